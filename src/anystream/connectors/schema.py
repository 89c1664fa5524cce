"""What the columns of a table mean, and how cells become numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
MOST_CATEGORIES = 100
EXACT = 2.0**53
"""Whole numbers below this are the same as doubles."""


def _whole(cell: Any) -> int:
    """A whole number, also one that a table of doubles writes as 3.0."""
    try:
        return int(cell) if isinstance(cell, str | int) else _whole_of(float(cell))
    except ValueError:
        return _whole_of(float(cell))


def _whole_of(value: float) -> int:
    if value != int(value):
        raise ValueError
    return int(value)


def _text(cell: Any) -> str:
    """A cell as text; what is true or false as JSON writes it."""
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


_LABEL_TYPES: dict[str, Callable[[Any], Any]] = {"int": _whole, "float": float, "text": _text}


class SchemaError(ValueError):
    """A table and a schema do not go together; the message says which column and what to do."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column that the model sees.

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
        """How many features it becomes."""
        return 1 if self.categories is None else len(self.categories)


class Encoded(NamedTuple):
    """Features of sound rows, and what is wrong with the others by row number."""

    features: NDArray[np.float64]
    faults: dict[int, str]


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table: those that the model sees, and the label, key and time of a record.

    Parameters
    ----------
    columns : tuple of Column
        What the model sees, in its order.
    label, key, time : str, optional
        Columns that hold the class, the key, and the time in seconds of a record.
    label_type : {"int", "float", "text"}
        What the labels of the model are.
    """

    columns: tuple[Column, ...]
    label: str | None = None
    key: str | None = None
    time: str | None = None
    label_type: str = "text"

    @property
    def n_features(self) -> int:
        """Features of a record."""
        return sum(column.width for column in self.columns)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features: a category is ``column=value``."""
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
    def numbers_only(self) -> bool:
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
        """A schema from the cells of a table: a column is numeric if every cell that is not missing is a number.

        Parameters
        ----------
        table : mapping of str to cells
            Columns by name, in order.
        label, key, time : str, optional
            Columns with a meaning of their own.
        ignore : sequence of str
            Columns that the model shall not see.
        """
        for name in (label, key, time, *ignore):
            if name is not None and name not in table:
                raise SchemaError(f"there is no column {name!r}; the table has {', '.join(table)}")
        aside = {label, key, time, *ignore}
        columns = tuple(_infer_column(name, cells) for name, cells in table.items() if name not in aside)
        if not columns:
            raise SchemaError("no column is left for the model; ignore fewer")
        return cls(columns, label, key, time, "text" if label is None else _infer_label_type(table[label]))

    def encode(self, table: Mapping[str, Sequence[Any]], n_rows: int) -> Encoded:
        """Cells as features.

        Parameters
        ----------
        table : mapping of str to cells
            The columns that the model sees; one that is absent counts as missing in every row.
        n_rows : int
            How many rows there are.
        """
        features = np.full((n_rows, self.n_features), math.nan)
        faults: dict[int, str] = {}
        at = 0
        for column in self.columns:
            cells = table.get(column.name)
            if cells is not None:
                if column.categories is None:
                    features[:, at] = _numbers(column.name, cells, faults)
                else:
                    _one_hot(column, cells, features[:, at : at + column.width], faults)
            at += column.width
        return Encoded(features, faults)

    def labels(self, cells: Sequence[Any], faults: dict[int, str]) -> list[Any]:
        """Labels as the model has them; None where missing."""
        convert = _LABEL_TYPES[self.label_type]
        if isinstance(cells, np.ndarray):
            if self.label_type == "int" and np.all(np.abs(cells) < EXACT) and np.all(cells == np.floor(cells)):
                return list(cells.astype(np.int64).tolist())
            cells = cells.tolist()

        def label(cell: Any) -> Any:
            if _is_missing(cell):
                return None
            try:
                return convert(cell)
            except (TypeError, ValueError, OverflowError):
                return _Fault(f"the label is {_shown(cell)}, those of the model are of type {self.label_type}")

        return _each(label, cells, faults)

    def times(self, cells: Sequence[Any], faults: dict[int, str]) -> NDArray[np.float64]:
        """Times in seconds; NaN where missing."""
        return _numbers(self.time or "time", cells, faults)

    def to_json(self) -> dict[str, Any]:
        """The schema as JSON holds it."""
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
        """The schema that `to_json` wrote."""
        try:
            columns = tuple(
                Column(str(column["name"]), tuple(column["categories"]) if "categories" in column else None)
                for column in value["columns"]
            )
            schema = cls(columns, value["label"], value["key"], value["time"], value["label_type"])
            if schema.label_type not in _LABEL_TYPES:
                raise ValueError(f"label_type is {schema.label_type!r}")
        except (KeyError, TypeError, ValueError) as error:
            raise SchemaError(f"the schema in the model file cannot be read ({error!r}); fit the model again") from None
        return schema


def _infer_column(name: str, cells: Sequence[Any]) -> Column:
    values = [cell for cell in cells if not _is_missing(cell)]
    if all(map(_is_number, values)):
        return Column(name)
    categories = sorted({_category(value) for value in values})
    if len(categories) > MOST_CATEGORIES:
        raise SchemaError(
            f"column {name!r} has {len(categories)} different values, the most that can be told apart is "
            f"{MOST_CATEGORIES}; leave it out with --ignore {name}, or give numbers"
        )
    return Column(name, tuple(categories))


def _infer_label_type(cells: Sequence[Any]) -> str:
    values = [cell for cell in cells if not _is_missing(cell)]
    for kind, convert in (("int", int), ("float", float)):
        try:
            if values and all(str(convert(value)) == str(value) and not isinstance(value, bool) for value in values):
                return kind
        except (TypeError, ValueError, OverflowError):
            continue
    return "text"


def _numbers(name: str, cells: Sequence[Any], faults: dict[int, str]) -> NDArray[np.float64]:
    if isinstance(cells, np.ndarray):
        if not np.isinf(cells).any():
            return cells
        cells = cells.tolist()
    try:  # the usual case: nothing but finite numbers
        numbers = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
        if np.isfinite(numbers).all():
            return numbers
    except (TypeError, ValueError, OverflowError):
        pass
    numbers = np.full(len(cells), math.nan)
    for row, cell in enumerate(cells):
        if _is_missing(cell):
            continue
        try:
            numbers[row] = float(cell)
        except (TypeError, ValueError, OverflowError):
            faults.setdefault(row, f"column {name!r} has {_shown(cell)}, which is no number")
            continue
        if math.isinf(numbers[row]):
            faults.setdefault(row, f"column {name!r} has {_shown(cell)}, which is not finite")
    return numbers


def _one_hot(column: Column, cells: Sequence[Any], out: NDArray[np.float64], faults: dict[int, str]) -> None:
    assert column.categories is not None
    places = {category: place for place, category in enumerate(column.categories)}

    def place(cell: Any) -> Any:
        if _is_missing(cell):
            return -1
        unknown = _Fault(f"column {column.name!r} has {_shown(cell)}, a category that the model does not know")
        return places.get(_category(cell), unknown)

    found = np.array([-1 if at is None else at for at in _each(place, cells, faults)], dtype=np.intp)
    rows = np.flatnonzero(found >= 0)
    out[rows] = 0.0
    out[rows, found[rows]] = 1.0


class _Fault(str):
    """What is wrong with a cell."""

    __slots__ = ()


def _each(convert: Callable[[Any], Any], cells: Sequence[Any], faults: dict[int, str]) -> list[Any]:
    """Every cell converted, None where it is at fault; equal texts only once, since a column has few different ones."""
    if set(map(type, cells)) == {str}:
        known = {cell: convert(cell) for cell in set(cells)}
        found = list(map(known.__getitem__, cells))
        if not any(type(value) is _Fault for value in known.values()):
            return found
    else:
        found = list(map(convert, cells))
    for row, value in enumerate(found):
        if type(value) is _Fault:
            faults.setdefault(row, str(value))
            found[row] = None
    return found


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _category(cell: Any) -> str:
    return _text(cell).strip()


def _shown(cell: Any) -> str:
    text = repr(cell)
    return text if len(text) <= 60 else text[:57] + "..."
