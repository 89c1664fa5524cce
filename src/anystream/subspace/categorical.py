"""Which columns hold categories."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

LARGEST_CATEGORY = 2**24
"""Category codes up to this are exact as 32-bit floats."""


def categorical_columns(chosen: Sequence[Hashable] | None, columns: Mapping[Hashable, int]) -> list[int]:
    """The numbers of the columns that `chosen` names, in rising order; names that are not there yet are left out.

    Examples
    --------
    >>> categorical_columns(["city", 0], {"age": 0, "city": 1})
    [0, 1]
    """
    if chosen is None:
        return []
    if isinstance(chosen, str) or not isinstance(chosen, Sequence):
        raise ValueError(f"categorical is {chosen!r}; use a list of column names or numbers")
    numbers: set[int] = set()
    for name in chosen:
        if name in columns:
            numbers.add(columns[name])
        elif isinstance(name, int) and 0 <= name < len(columns):
            numbers.add(name)
        elif isinstance(name, int) and name < 0:
            raise ValueError(f"categorical names column {name}; use names, or numbers from 0 on")
    return sorted(numbers)


def require_columns(chosen: Sequence[Hashable] | None, columns: Mapping[Hashable, int]) -> None:
    """Every column that `chosen` names must be there, as it is in a table: only records of named features may grow."""
    known = categorical_columns(chosen, columns)
    if chosen is not None and len(known) < len(set(chosen)):
        missing = [name for name in chosen if not categorical_columns([name], columns)]
        what = f"{missing[0]!r}, which is not there" if missing else "a column twice, by name and by number"
        raise ValueError(f"categorical names {what}; use columns of the table: {list(columns)}")


def check_categories(points: NDArray[np.float64], columns: Sequence[int]) -> None:
    """Categories are whole numbers: codes such as an ordinal encoder makes."""
    for column in columns:
        values = points[:, column]
        values = values[~np.isnan(values)]
        wrong = values[(values != np.floor(values)) | (np.abs(values) > LARGEST_CATEGORY)]
        if wrong.size:
            raise ValueError(
                f"column {column} is categorical and holds {wrong[0]}; use whole numbers up to {LARGEST_CATEGORY}"
            )
