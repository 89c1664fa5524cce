"""Categorical columns of a table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

MAX_CATEGORY = 2**24
"""Largest category code that is exact as a 32-bit float."""


def categorical_columns(chosen: Sequence[Hashable] | None, columns: Mapping[Hashable, int]) -> list[int]:
    """Return the numbers of the columns that `chosen` names, ascending; names that do not exist yet are left out.

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
    """Raise ValueError if `chosen` names a column that the table does not have.

    Tables have all their columns from the start; only records of named features can get new ones later.
    """
    known = categorical_columns(chosen, columns)
    if chosen is not None and len(known) < len(set(chosen)):
        missing = [name for name in chosen if not categorical_columns([name], columns)]
        what = f"{missing[0]!r}, which does not exist" if missing else "a column twice, by name and by number"
        raise ValueError(f"categorical names {what}; use columns of the table: {list(columns)}")


def check_categories(points: NDArray[np.float64], columns: Sequence[int]) -> None:
    """Raise ValueError unless categories are whole numbers, such as an ordinal encoder returns."""
    for column in columns:
        values = points[:, column]
        values = values[~np.isnan(values)]
        wrong = values[(values != np.floor(values)) | (np.abs(values) > MAX_CATEGORY)]
        if wrong.size:
            raise ValueError(
                f"column {column} is categorical and holds {wrong[0]}; use whole numbers up to {MAX_CATEGORY}"
            )
