"""Schema of a table: the meaning of its columns, and how cells become features."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.cells import (
    LABEL_TYPES,
    Errors,
    number_categories,
    parse_labels,
    parse_numbers,
    parse_times,
)
from anystream.runtime.records import shorten

UNKNOWN_POLICIES = ("missing", "reject")
"""What may become of a category that is not in the training data."""


class SchemaError(ValueError):
    """A table and a schema do not fit each other; the message tells which column and what to do."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column that is an input of the model.

    Parameters
    ----------
    name : str
        Its name in the table.
    categories : tuple of str or None
        Its values, if they are names without an order; each becomes a feature of its own that is 0 or 1. None: numbers.
    other : bool, default=False
        Whether all values beside `categories` are one more category.
    coded : bool, default=False
        Whether the categories become one feature, their number, for models that compare categories.
    """

    name: str
    categories: tuple[str, ...] | None = None
    other: bool = False
    coded: bool = False

    @property
    def n_categories(self) -> int:
        """Number of categories, with that of all other values."""
        return len(self.categories or ()) + self.other

    @property
    def width(self) -> int:
        """Number of features that it becomes."""
        return 1 if self.categories is None or self.coded else self.n_categories


class Encoded(NamedTuple):
    """Features of all records, what is wrong with the malformed ones, and unknown categories, both by row."""

    features: NDArray[np.float64]
    errors: Errors
    unknown: Errors


@dataclass(frozen=True)
class Schema:
    """The columns of a table: the inputs of the model, and the label, key and time of a record.

    Parameters
    ----------
    columns : tuple of Column
        The inputs of the model, in its order.
    label, key, time : str, optional
        Columns that hold the class, the key, and the time of a record, in seconds or by ISO 8601.
    label_type : {"int", "float", "text"}
        The type of the model's labels.
    unknown : {"missing", "reject"}
        What becomes of a category that is not in the training data: a missing value, or an error of its record.
    required : tuple of str
        Columns beside the inputs that a table must have; absent ones of the others are ignored.
    keep : tuple of str
        Columns whose cells go along with the record, into its answer.

    See Also
    --------
    anystream.connectors.schema_inference.infer_schema : the schema of a table.
    anystream.connectors.saved_model.open_model : a model file with the schema of its records.
    """

    columns: tuple[Column, ...]
    label: str | None = None
    key: str | None = None
    time: str | None = None
    label_type: str = "text"
    unknown: str = "missing"
    required: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the policy for unknown categories."""
        if self.unknown not in UNKNOWN_POLICIES:
            raise ValueError(f"unknown is {self.unknown!r}; use one of {', '.join(UNKNOWN_POLICIES)}")

    @cached_property
    def n_features(self) -> int:
        """Number of features of a record."""
        return sum(column.width for column in self.columns)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features; that of a category is ``column=value``."""
        names: list[str] = []
        for column in self.columns:
            if column.categories is None or column.coded:
                names.append(column.name)
            else:
                names += [f"{column.name}={category}" for category in column.categories]
                names += [f"{column.name}: other"] if column.other else []
        return names

    @property
    def coded_features(self) -> list[int]:
        """Places of the features that are numbers of categories."""
        widths = [column.width for column in self.columns]
        return [sum(widths[:place]) for place, column in enumerate(self.columns) if column.coded]

    @property
    def has_categories(self) -> bool:
        """Whether a column holds categories."""
        return any(column.categories is not None for column in self.columns)

    @property
    def used_names(self) -> list[str]:
        """Names of all columns that records are made of, each once."""
        names = [column.name for column in self.columns]
        names += [name for name in (self.label, self.key, self.time) if name is not None]
        return list(dict.fromkeys([*names, *self.keep]))

    @property
    def number_names(self) -> list[str]:
        """Columns whose cells are numbers if no feature has categories: the features first, then time and label."""
        label = None if self.label_type == "text" else self.label
        names = [*(column.name for column in self.columns), self.time, label]
        return list(dict.fromkeys(name for name in names if name is not None))

    @property
    def text_names(self) -> list[str]:
        """Columns whose cells are kept as text: the key, and a label of that type."""
        label = self.label if self.label_type == "text" else None
        return list(dict.fromkeys(name for name in (self.key, label) if name is not None))

    def require_columns(self, names: Collection[str], path: Any) -> None:
        """Raise `SchemaError` if a table with these column names lacks an input of the model, or a required column."""
        known = set(names)
        if absent_names := [name for name in (*self.required, *self.keep) if name not in known]:
            raise SchemaError(
                f"{path}: there is no column {absent_names[0]!r}; the table has {shorten(', '.join(names))}"
            )
        if absent := [column.name for column in self.columns if column.name not in known]:
            raise SchemaError(
                f"{path}: there is no column {absent[0]!r}, which the model was fitted on; the table has "
                f"{shorten(', '.join(names))}"
            )

    def encode(self, table: Mapping[str, Sequence[Any]], n_records: int) -> Encoded:
        """Return cells as features.

        Parameters
        ----------
        table : mapping of str to cells
            The inputs of the model; an absent column counts as missing in every record.
        n_records : int
            Number of records.
        """
        features = np.full((n_records, self.n_features), math.nan)
        errors: Errors = {}
        unknown: Errors = {}
        at = 0
        for column in self.columns:
            cells = table.get(column.name)
            if cells is not None:
                if column.categories is None:
                    features[:, at] = parse_numbers(column.name, cells, errors)
                else:
                    numbers = number_categories(
                        column.name,
                        column.categories,
                        cells,
                        errors,
                        unknown if self.unknown == "missing" else errors,
                        other=column.other,
                    )
                    _write_categories(numbers, features[:, at : at + column.width], coded=column.coded)
            at += column.width
        return Encoded(features, errors, unknown)

    def encode_labels(self, cells: Sequence[Any], errors: Errors) -> list[Any]:
        """Return labels of the model's type; None where missing or, with an entry in `errors`, malformed."""
        return parse_labels(cells, self.label_type, errors)

    def encode_times(self, cells: Sequence[Any], errors: Errors) -> NDArray[np.float64]:
        """Return times in seconds; NaN where missing or, with an entry in `errors`, malformed."""
        return parse_times(self.time or "time", cells, errors)

    def to_json(self) -> dict[str, Any]:
        """Return the schema as JSON can hold it."""
        return {
            "columns": [
                {"name": column.name}
                | ({} if column.categories is None else {"categories": list(column.categories)})
                | {name: True for name in ("other", "coded") if getattr(column, name)}
                for column in self.columns
            ],
            "label": self.label,
            "key": self.key,
            "time": self.time,
            "label_type": self.label_type,
        }

    @classmethod
    def from_json(cls, value: Any) -> Schema:
        """Return the schema that `to_json` wrote."""
        try:
            columns = tuple(
                Column(
                    str(column["name"]),
                    tuple(column["categories"]) if "categories" in column else None,
                    other=bool(column.get("other", False)),
                    coded=bool(column.get("coded", False)),
                )
                for column in value["columns"]
            )
            schema = cls(columns, value["label"], value["key"], value["time"], value["label_type"])
            if schema.label_type not in LABEL_TYPES:
                raise ValueError(f"label_type is {schema.label_type!r}")
        except (KeyError, TypeError, ValueError) as error:
            raise SchemaError(f"the schema in the model file cannot be read ({error!r}); fit the model again") from None
        return schema


def _write_categories(numbers: NDArray[np.intp], out: NDArray[np.float64], *, coded: bool) -> None:
    """Write categories as features: their number, or 1 in the column of the category and 0 in the others."""
    rows = np.flatnonzero(numbers >= 0)
    if coded:
        out[rows, 0] = numbers[rows]
    else:
        out[rows] = 0.0
        out[rows, numbers[rows]] = 1.0
