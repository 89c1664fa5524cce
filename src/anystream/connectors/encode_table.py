"""Records of a whole table, encoded for a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.file_formats import ReadableTable
from anystream.connectors.schema import Schema, SchemaError
from anystream.runtime.record_checks import MAX_TEXT


class EncodedTable(NamedTuple):
    """Records of a table.

    Parameters
    ----------
    features : array of shape (n_records, n_features)
        Inputs of the model.
    labels : list or None
        Their labels; None if the table has no such column.
    n_unknown : int
        Records with a category that is not in the training data, which counts as missing.
    first_unknown : str
        Where the first of them is, and what is unknown.
    """

    features: NDArray[np.float64]
    labels: list[Any] | None
    n_unknown: int
    first_unknown: str


def encode_table(
    schema: Schema, table: ReadableTable, *, labelled: bool, rows: NDArray[np.bool_] | None = None
) -> EncodedTable:
    """Return all records; raise SchemaError with the first malformed one.

    Parameters
    ----------
    schema : Schema
        Columns of the model.
    table : ReadableTable
        The table.
    labelled : bool
        Whether a table without labels, or a record without one, is an error.
    rows : array of bool, optional
        Which records are wanted; all by default.
    """
    features: list[NDArray[np.float64]] = []
    labels: list[Any] = []
    has_labels = labelled
    n_unknown, first_unknown, n_read = 0, "", 0
    names: dict[str, None] = {}
    for columns, places in table.chunks():
        names |= dict.fromkeys(columns)
        if table.unit == "record" or not places:  # later parts of JSON lines may lack a column
            _require_columns(schema, list(columns), table, labelled=labelled)
        if rows is not None:
            wanted = np.flatnonzero(rows[n_read : n_read + len(places)]).tolist()
            n_read += len(places)
            columns = {name: [cells[row] for row in wanted] for name, cells in columns.items()}
            places = [places[row] for row in wanted]
        if not places:
            continue
        encoded, errors, unknown = schema.encode(columns, len(places))
        if schema.label is not None and schema.label in columns:
            has_labels = True
            labels += _encode_labels(schema, columns[schema.label], errors)
        else:
            labels += [None] * len(places)
        if has_labels:
            _require_labels(schema, labels[-len(places) :], errors)
        if errors:
            row = min(errors)
            raise SchemaError(f"{table.name}: {table.unit} {places[row]}: {errors[row]}; correct the file")
        if unknown and not n_unknown:
            row = min(unknown)
            first_unknown = f"{table.unit} {places[row]}: {unknown[row]}"
        n_unknown += len(unknown)
        features.append(encoded)
    _require_columns(schema, list(names), table, labelled=labelled)
    if not features:
        raise SchemaError(f"{table.name}: there are no records")
    return EncodedTable(_stack(features), labels if has_labels else None, n_unknown, first_unknown)


def _require_columns(schema: Schema, names: Sequence[str], table: ReadableTable, *, labelled: bool) -> None:
    if labelled and (schema.label is None or schema.label not in names):
        shown = ", ".join(names) or "none, because it is empty"
        absent = "" if schema.label is None else f"there is no column {schema.label!r}; "
        raise SchemaError(
            f"{table.name}: {absent}name the column of the class label with --label; the columns are {shown}"
        )
    schema.require_columns(names, table.name)


def _encode_labels(schema: Schema, cells: Sequence[Any], errors: dict[int, str]) -> list[Any]:
    labels = schema.encode_labels(cells, errors)
    for row, label in enumerate(labels):
        if isinstance(label, str) and len(label) > MAX_TEXT:
            errors[row] = f"the label has {len(label)} characters, allowed are {MAX_TEXT}"
    return labels


def _require_labels(schema: Schema, labels: Sequence[Any], errors: dict[int, str]) -> None:
    unlabelled = next((row for row, label in enumerate(labels) if label is None and row not in errors), None)
    if unlabelled is not None:
        errors[unlabelled] = f"column {schema.label!r}, the label, is empty"


def _stack(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return all parts as one array, and free each of them as soon as it is copied."""
    whole = np.empty((sum(map(len, parts)), parts[0].shape[1]))
    at = 0
    for place, part in enumerate(parts):
        whole[at : at + len(part)] = part
        at += len(part)
        parts[place] = part[:0].copy()
    return whole
