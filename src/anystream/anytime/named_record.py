"""Records as mappings from feature names to numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

NamedRecord = Mapping[Hashable, Any]
Columns = dict[Hashable, int]

ENCODE = "features are numbers, so encode categories first (for instance with river's OneHotEncoder)"
"""Advice in errors about values that are not numbers."""


def named_record(x: NamedRecord, columns: Columns) -> NDArray[np.float64]:
    """Return the values of a record by column: NaN for a feature that it lacks; unknown features are left out."""
    if len(x) == len(columns):
        try:  # the usual case: the same features as before, all of them numbers
            return np.fromiter(map(x.__getitem__, columns), np.float64, len(columns))
        except (KeyError, TypeError, ValueError):
            pass
    record = np.full(len(columns), math.nan)
    for name, value in x.items():
        if name not in columns:
            continue
        try:
            record[columns[name]] = math.nan if value is None else value
        except (TypeError, ValueError):
            raise ValueError(f"feature {name!r} is {value!r}; {ENCODE}") from None
    return record
