"""Conversion of table cells into numbers, categories and labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.records import show_value

MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
"""Texts that stand for a missing value, in lower case."""
EXACT_INT_LIMIT = 2.0**53
"""Integers below this are represented exactly as doubles."""

Errors = dict[int, str]
"""What is wrong with a record, by the row of the record."""


def _parse_int(cell: Any) -> int:
    """Return an integer, also from a table of doubles that writes it as 3.0."""
    try:
        return int(cell) if isinstance(cell, str | int) else _to_int(float(cell))
    except ValueError:
        return _to_int(float(cell))


def _to_int(value: float) -> int:
    if value != int(value):
        raise ValueError(f"{value} is not an integer")
    return int(value)


def _parse_whole(cell: Any) -> float:
    """Return a whole number as a double: classifiers take no other numbers as classes."""
    return float(_to_int(float(cell)))


def to_text(cell: Any) -> str:
    """Return a cell as text; true and false in the spelling of JSON."""
    if isinstance(cell, list | dict):
        raise TypeError("lists and objects are no texts")
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


LABEL_TYPES: dict[str, Callable[[Any], Any]] = {"int": _parse_int, "float": _parse_whole, "text": to_text}
"""Conversion of a cell into a label, by the type of the labels."""


def infer_label_type(cells: Sequence[Any]) -> str:
    """Return the narrowest label type that keeps the spelling of every cell."""
    values = [cell for cell in cells if not is_missing(cell)]
    for kind, convert in (("int", int), ("float", float)):
        try:
            if values and all(str(convert(value)) == str(value) and not isinstance(value, bool) for value in values):
                return kind
        except (TypeError, ValueError, OverflowError):
            continue
    return "text"


def parse_labels(cells: Sequence[Any], label_type: str, errors: Errors) -> list[Any]:
    """Return cells as labels of the given type; None where missing or, with an entry in `errors`, malformed."""
    convert = LABEL_TYPES[label_type]
    if isinstance(cells, np.ndarray):
        if label_type == "int" and np.all(np.abs(cells) < EXACT_INT_LIMIT) and np.all(cells == np.floor(cells)):
            return list(cells.astype(np.int64).tolist())
        cells = cells.tolist()

    def parse_label(cell: Any) -> Any:
        if is_missing(cell):
            return None
        try:
            return convert(cell)
        except (TypeError, ValueError, OverflowError):
            return _CellError(f"the label is {show_value(cell)}, those of the model are of type {label_type}")

    return _convert_each(parse_label, cells, errors)


def parse_numbers(name: str, cells: Sequence[Any], errors: Errors, wanted: str = "a number") -> NDArray[np.float64]:
    """Return the cells of a column as numbers; NaN where missing or, with an entry in `errors`, malformed."""
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
        if is_missing(cell):
            continue
        try:
            numbers[row] = float(cell)
        except (TypeError, ValueError, OverflowError):
            errors.setdefault(row, f"column {name!r} has {show_value(cell)}, which is not {wanted}")
            continue
        if math.isinf(numbers[row]):
            errors.setdefault(row, f"column {name!r} has {show_value(cell)}, which is not finite")
    return numbers


def number_categories(
    name: str, categories: Sequence[str], cells: Sequence[Any], errors: Errors, unknown: Errors, *, other: bool = False
) -> NDArray[np.intp]:
    """Return the number of each cell's category; -1 where it is missing, malformed or unknown.

    Parameters
    ----------
    name : str
        Name of the column, for messages.
    categories : sequence of str
        The categories, in the order of their numbers.
    cells : sequence
        The cells.
    errors, unknown : dict
        Receive what is wrong with a cell that is no category at all, and with one that is none of `categories`.
    other : bool, default=False
        Whether all other categories have a number together, which follows those of `categories`.
    """
    numbers = {category: number for number, category in enumerate(categories)}

    def find_number(cell: Any) -> Any:
        if is_missing(cell):
            return -1
        if isinstance(cell, list | dict):
            return _CellError(f"column {name!r} has {show_value(cell)}, which is no category")
        found = numbers.get(to_category(cell), len(categories) if other else None)
        if found is None:
            return _UnknownError(f"column {name!r} has {show_value(cell)}, a category that is not in the training data")
        return found

    found = _convert_each(find_number, cells, errors, unknown)
    return np.array([-1 if number is None else number for number in found], dtype=np.intp)


def parse_times(name: str, cells: Sequence[Any], errors: Errors) -> NDArray[np.float64]:
    """Return the cells of a column as seconds: numbers, or instants by ISO 8601, which are UTC without an offset.

    NaN where missing or, with an entry in `errors`, malformed.
    """
    if isinstance(cells, np.ndarray):
        return parse_numbers(name, cells, errors)
    return parse_numbers(
        name, [_to_seconds(cell) for cell in cells], errors, "a number of seconds or a time of ISO 8601"
    )


def _to_seconds(cell: Any) -> Any:
    """Return the seconds since 1970 of an instant; anything else as it is."""
    if isinstance(cell, str) and "-" in cell[1:]:
        try:
            cell = datetime.fromisoformat(cell.strip())
        except ValueError:
            return cell
    if isinstance(cell, datetime):
        return (cell if cell.tzinfo is not None else cell.replace(tzinfo=UTC)).timestamp()
    return datetime.combine(cell, time(), UTC).timestamp() if isinstance(cell, date) else cell


def is_missing(cell: Any) -> bool:
    """Whether a cell stands for a missing value."""
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def is_number(cell: Any) -> bool:
    """Whether a cell can be converted into a number."""
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def to_category(cell: Any) -> str:
    """Return a cell as the name of a category."""
    return to_text(cell).strip()


class _CellError(str):
    """What is wrong with a cell."""

    __slots__ = ()


class _UnknownError(_CellError):
    """A category that is not known."""

    __slots__ = ()


def _convert_each(
    convert: Callable[[Any], Any], cells: Sequence[Any], errors: Errors, unknown: Errors | None = None
) -> list[Any]:
    """Convert every cell, with None for errors; equal texts are converted once, because a column has few different."""
    if set(map(type, cells)) == {str}:
        known = {cell: convert(cell) for cell in set(cells)}
        found = list(map(known.__getitem__, cells))
        if not any(isinstance(value, _CellError) for value in known.values()):
            return found
    else:
        found = list(map(convert, cells))
    for row, value in enumerate(found):
        if isinstance(value, _CellError):
            (unknown if type(value) is _UnknownError and unknown is not None else errors).setdefault(row, str(value))
            found[row] = None
    return found
