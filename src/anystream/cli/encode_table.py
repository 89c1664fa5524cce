"""Records of a whole table, encoded for a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.schema import Schema, SchemaError
from anystream.runtime.record_checks import MAX_TEXT


def encode_table(schema: Schema, columns: Mapping[str, Sequence[Any]], path: str) -> NDArray[np.float64]:
    """Return the features of all records; raise SchemaError with the first malformed record.

    Parameters
    ----------
    schema : Schema
        Columns of the model.
    columns : mapping of str to cells
        The table.
    path : str
        Name of the table in error messages.
    """
    schema.require_columns(list(columns), path)
    features, errors = schema.encode(columns, len(next(iter(columns.values()))))
    _raise_first(errors, path)
    return features


def encode_labelled_table(
    schema: Schema, columns: Mapping[str, Sequence[Any]], path: str
) -> tuple[NDArray[np.float64], list[Any]]:
    """Return the features and labels of all records; otherwise as `encode_table`, and a missing label is an error."""
    if schema.label is None or schema.label not in columns:
        raise SchemaError(f"{path}: name the column of the class label with --label; it has {', '.join(columns)}")
    schema.require_columns(list(columns), path)
    cells = columns[schema.label]
    if len(cells) == 0:
        raise SchemaError(f"{path}: there are no records below the header")
    features, errors = schema.encode(columns, len(cells))
    labels = schema.encode_labels(cells, errors)
    unlabelled = next((row for row, label in enumerate(labels) if label is None and row not in errors), None)
    if unlabelled is not None:
        errors[unlabelled] = f"column {schema.label!r}, the label, is empty"
    too_long = next((row for row, label in enumerate(labels) if isinstance(label, str) and len(label) > MAX_TEXT), None)
    if too_long is not None:
        errors[too_long] = f"the label has {len(labels[too_long])} characters, allowed are {MAX_TEXT}"
    _raise_first(errors, path)
    return features, labels


def _raise_first(errors: Mapping[int, str], path: str) -> None:
    if errors:
        row = min(errors)
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        raise SchemaError(f"{path}: record {row + 1}: {errors[row]}{more}; correct the file")
