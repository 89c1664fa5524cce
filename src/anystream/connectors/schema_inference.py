"""Inference of a schema from the cells of a table, which may come in parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from anystream.connectors.cells import infer_label_type, is_missing, is_number, to_category
from anystream.connectors.schema import Column, Schema, SchemaError
from anystream.runtime.records import shorten, show_value

MAX_CATEGORIES = 100
_MAX_COUNTED = 10_000  # different values of a column that are counted
_MOSTLY_NUMBERS = 0.95  # share of numbers from which on the other cells of a column are mistakes


def infer_schema(
    table: Mapping[str, Sequence[Any]],
    *,
    label: str | None = None,
    key: str | None = None,
    time: str | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
) -> Schema:
    """Return the schema of a table: a column is numeric if every cell that is not missing is a number.

    Parameters
    ----------
    table : mapping of str to cells
        Columns by name, in order; see `anystream.connectors.csv_file.read_csv_columns`.
    label, key, time, ignore, categorical, numeric
        See `SchemaInference`.

    Examples
    --------
    >>> table = {"id": ["a", "b"], "size": ["1", "2.5"], "colour": ["red", "blue"], "class": ["0", "1"]}
    >>> schema = infer_schema(table, label="class", key="id")
    >>> schema.feature_names
    ['size', 'colour=blue', 'colour=red']
    """
    inference = SchemaInference(
        label=label, key=key, time=time, ignore=ignore, categorical=categorical, numeric=numeric
    )
    inference.update(table, range(1, 1 + max(map(len, table.values()), default=0)))
    return inference.finish()


class SchemaInference:
    """Schema of a table that is read in parts.

    Parameters
    ----------
    label, key, time : str, optional
        Columns with a meaning of their own.
    ignore : sequence of str
        Columns that the model does not use.
    categorical : sequence of str
        Columns whose values are categories whatever they look like; of more than 100, the most frequent ones have a
        category of their own, and all others one together.
    numeric : sequence of str
        Columns of numbers; a cell that is none is an error of its record.
    unit : str, default="record"
        What the places given to `update` count, for messages.
    coded : bool, default=False
        Whether a column of categories becomes one feature, the number of the category, instead of one per category.
    """

    def __init__(
        self,
        *,
        label: str | None = None,
        key: str | None = None,
        time: str | None = None,
        ignore: Sequence[str] = (),
        categorical: Sequence[str] = (),
        numeric: Sequence[str] = (),
        unit: str = "record",
        coded: bool = False,
    ) -> None:
        if both := sorted(set(categorical) & set(numeric)):
            raise SchemaError(f"column {both[0]!r} cannot be both categorical and numeric; name it once")
        self._label, self._key, self._time, self._ignore = label, key, time, tuple(ignore)
        self._categorical, self._numeric = tuple(categorical), tuple(numeric)
        self._unit, self._coded = unit, coded
        self._columns: dict[str, _ColumnCount] = {}
        self._labels: dict[tuple[type, Any], Any] = {}  # the different labels
        self.n_records = 0

    def update(self, table: Mapping[str, Sequence[Any]], places: Sequence[int]) -> None:
        """Count the cells of a part of the table; `places` are the lines or numbers of its records."""
        self.n_records += len(places)
        others = {self._label, self._key, self._time, *self._ignore}
        for name, cells in table.items():
            if name not in self._columns:
                self._columns[name] = _ColumnCount(name)
            if name == self._label:
                self._labels |= {(type(cell), str(cell)): cell for cell in cells}
            elif name not in others:
                self._columns[name].update(cells, places)

    def add(self, other: SchemaInference) -> None:
        """Count what another inference with the same settings has counted in another part of the table."""
        self.n_records += other.n_records
        self._labels |= {key: label for key, label in other._labels.items() if key not in self._labels}
        for name, found in other._columns.items():
            if name in self._columns:
                self._columns[name].add(found)
            else:
                self._columns[name] = found

    def finish(self) -> Schema:
        """Return the schema; raise SchemaError with everything that is wrong."""
        special = (self._label, self._key, self._time)
        for name in (*special, *self._ignore, *self._categorical, *self._numeric):
            if name is not None and name not in self._columns:
                raise SchemaError(f"there is no column {name!r}; the table has {shorten(', '.join(self._columns))}")
        counts = [found for name, found in self._columns.items() if name not in {*special, *self._ignore}]
        if not counts:
            raise SchemaError("no column is left for the model; ignore fewer")
        self._raise_problems([found for found in counts if found.name not in {*self._categorical, *self._numeric}])
        columns = tuple(self._make_column(found) for found in counts)
        label_type = "text" if self._label is None else infer_label_type(list(self._labels.values()))
        return Schema(columns, self._label, self._key, self._time, label_type)

    def _make_column(self, found: _ColumnCount) -> Column:
        if found.name in self._numeric or (found.is_numeric and found.name not in self._categorical):
            return Column(found.name)
        if len(found.values) <= MAX_CATEGORIES:
            return Column(found.name, tuple(sorted(found.values)), coded=self._coded)
        frequent = sorted(found.values, key=lambda value: (-found.values[value], value))[: MAX_CATEGORIES - 1]
        return Column(found.name, tuple(sorted(frequent)), other=True, coded=self._coded)

    def _raise_problems(self, counts: Iterable[_ColumnCount]) -> None:
        many: list[_ColumnCount] = []
        problems: list[str] = []
        for found in counts:
            if found.problem is not None:
                place, cell = found.problem
                problems.append(
                    f"{self._unit} {place}: column {found.name!r} has {show_value(cell)}; give text or a number"
                )
            elif not found.is_numeric and len(found.values) > MAX_CATEGORIES:
                if found.n_numbers >= _MOSTLY_NUMBERS * found.n_values:
                    place, cell = found.first_text
                    problems.append(
                        f"{self._unit} {place}: column {found.name!r} has {show_value(cell)}, which is no number, as "
                        f"{found.n_numbers} of its {found.n_values} values are; correct it, or leave the column out "
                        f"with --ignore {found.name}"
                    )
                else:
                    many.append(found)
        if many:
            problems.append(_describe_many(many))
        if problems:
            raise SchemaError("; ".join(problems))


class _ColumnCount:
    """Count of what a column holds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.n_values = 0  # cells that are not missing
        self.n_numbers = 0
        self.values: Counter[str] = Counter()  # the different values, up to a maximum
        self.first_text: tuple[int, Any] = (0, None)  # place and content of the first cell that is no number
        self.problem: tuple[int, Any] | None = None  # of the first cell that is neither

    @property
    def is_numeric(self) -> bool:
        return self.n_numbers == self.n_values

    def update(self, cells: Sequence[Any], places: Sequence[int]) -> None:
        if _all_numbers(cells):
            self.n_values += len(cells)
            self.n_numbers += len(cells)
            self._count(cells)
            return
        for cell, place in zip(cells, places, strict=True):
            if is_missing(cell):
                continue
            if isinstance(cell, list | dict):
                self.problem = self.problem or (place, cell)
                continue
            self.n_values += 1
            if is_number(cell):
                self.n_numbers += 1
            elif self.n_numbers == self.n_values - 1 and self.first_text[1] is None:
                self.first_text = (place, cell)
        self._count([cell for cell in cells if not is_missing(cell) and not isinstance(cell, list | dict)])

    def add(self, other: _ColumnCount) -> None:
        self.n_values += other.n_values
        self.n_numbers += other.n_numbers
        self.first_text = other.first_text if self.first_text[1] is None else self.first_text
        self.problem = self.problem or other.problem
        self._add_counts(other.values)

    def _count(self, cells: Collection[Any]) -> None:
        self._add_counts(Counter(map(to_category, cells)))

    def _add_counts(self, counts: Counter[str]) -> None:
        for value, n in counts.items():
            if value in self.values or len(self.values) < _MAX_COUNTED:
                self.values[value] += n


def _all_numbers(cells: Sequence[Any]) -> bool:
    try:
        return bool(np.isfinite(np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))).all())
    except (TypeError, ValueError, OverflowError):
        return False


def _describe_many(many: Sequence[_ColumnCount]) -> str:
    counts = ", ".join(
        f"{found.name!r} ({'more than ' if len(found.values) >= _MAX_COUNTED else ''}{len(found.values)})"
        for found in many
    )

    def options(option: str) -> str:
        return " ".join(f"--{option} {found.name}" for found in many)

    return (
        f"these columns have more different values than the {MAX_CATEGORIES} that categories may have: {counts}; leave "
        f"them out with {options('ignore')}, or keep the {MAX_CATEGORIES - 1} most frequent and one category for all "
        f"others with {options('categorical')}"
    )
