"""Schema of a table: the meaning of its columns, and how cells become features."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.cells import (
    LABEL_TYPES,
    Errors,
    encode_one_hot,
    infer_label_type,
    is_missing,
    is_number,
    parse_labels,
    parse_numbers,
    to_category,
)
from anystream.runtime.records import shorten

MAX_CATEGORIES = 100


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
    """

    name: str
    categories: tuple[str, ...] | None = None

    @property
    def width(self) -> int:
        """Number of features that it becomes."""
        return 1 if self.categories is None else len(self.categories)


class Encoded(NamedTuple):
    """Features of all records, and what is wrong with the malformed ones, by row."""

    features: NDArray[np.float64]
    errors: Errors


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table: the inputs of the model, and the label, key and time of a record.

    Parameters
    ----------
    columns : tuple of Column
        The inputs of the model, in its order.
    label, key, time : str, optional
        Columns that hold the class, the key, and the time in seconds of a record.
    label_type : {"int", "float", "text"}
        The type of the model's labels.
    """

    columns: tuple[Column, ...]
    label: str | None = None
    key: str | None = None
    time: str | None = None
    label_type: str = "text"

    @property
    def n_features(self) -> int:
        """Number of features of a record."""
        return sum(column.width for column in self.columns)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features; that of a category is ``column=value``."""
        return [
            name
            for column in self.columns
            for name in (
                [column.name]
                if column.categories is None
                else [f"{column.name}={category}" for category in column.categories]
            )
        ]

    @property
    def is_numeric(self) -> bool:
        """Whether every feature is a number and so is the label."""
        return self.label_type != "text" and all(column.categories is None for column in self.columns)

    @classmethod
    def infer(
        cls,
        table: Mapping[str, Sequence[Any]],
        *,
        label: str | None = None,
        key: str | None = None,
        time: str | None = None,
        ignore: Sequence[str] = (),
    ) -> Schema:
        """Infer a schema from the cells of a table: a column is numeric if every cell that is not missing is a number.

        Parameters
        ----------
        table : mapping of str to cells
            Columns by name, in order.
        label, key, time : str, optional
            Columns with a meaning of their own.
        ignore : sequence of str
            Columns that the model does not use.
        """
        for name in (label, key, time, *ignore):
            if name is not None and name not in table:
                raise SchemaError(f"there is no column {name!r}; the table has {shorten(', '.join(table))}")
        others = {label, key, time, *ignore}
        columns = tuple(_infer_column(name, cells) for name, cells in table.items() if name not in others)
        if not columns:
            raise SchemaError("no column is left for the model; ignore fewer")
        return cls(columns, label, key, time, "text" if label is None else infer_label_type(table[label]))

    def require_columns(self, names: Collection[str], path: Any) -> None:
        """Raise `SchemaError` if a table with these column names lacks an input of the model."""
        known = set(names)
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
        at = 0
        for column in self.columns:
            cells = table.get(column.name)
            if cells is not None:
                if column.categories is None:
                    features[:, at] = parse_numbers(column.name, cells, errors)
                else:
                    encode_one_hot(column.name, column.categories, cells, features[:, at : at + column.width], errors)
            at += column.width
        return Encoded(features, errors)

    def encode_labels(self, cells: Sequence[Any], errors: Errors) -> list[Any]:
        """Return labels of the model's type; None where missing or, with an entry in `errors`, malformed."""
        return parse_labels(cells, self.label_type, errors)

    def encode_times(self, cells: Sequence[Any], errors: Errors) -> NDArray[np.float64]:
        """Return times in seconds; NaN where missing or, with an entry in `errors`, malformed."""
        return parse_numbers(self.time or "time", cells, errors)

    def to_json(self) -> dict[str, Any]:
        """Return the schema as JSON can hold it."""
        return {
            "columns": [
                {"name": column.name} | ({} if column.categories is None else {"categories": list(column.categories)})
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
                Column(str(column["name"]), tuple(column["categories"]) if "categories" in column else None)
                for column in value["columns"]
            )
            schema = cls(columns, value["label"], value["key"], value["time"], value["label_type"])
            if schema.label_type not in LABEL_TYPES:
                raise ValueError(f"label_type is {schema.label_type!r}")
        except (KeyError, TypeError, ValueError) as error:
            raise SchemaError(f"the schema in the model file cannot be read ({error!r}); fit the model again") from None
        return schema


def _infer_column(name: str, cells: Sequence[Any]) -> Column:
    values = [cell for cell in cells if not is_missing(cell)]
    if all(map(is_number, values)):
        return Column(name)
    categories = sorted({to_category(value) for value in values})
    if len(categories) > MAX_CATEGORIES:
        raise SchemaError(
            f"column {name!r} has {len(categories)} different values, the maximum for categories is {MAX_CATEGORIES}; "
            f"leave it out with --ignore {name}, or give numbers"
        )
    return Column(name, tuple(categories))
