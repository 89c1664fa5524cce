"""Which values the features of records may have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e100
"""Features beyond this are refused: their squares would leave the range of a double."""


def check_feature_values(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows, if a model can learn from them: NaN is a missing value, and all others are no larger than `LARGEST`.

    Examples
    --------
    >>> check_feature_values(np.array([[2.0, -1e200]]))
    Traceback (most recent call last):
    ...
    ValueError: a feature is -1e+200, beyond 1e+100; rescale the data or mark the value as missing (NaN)
    """
    beyond = rows[np.abs(rows) > LARGEST]
    if beyond.size == 0:
        return rows
    if np.isinf(beyond).any():
        raise ValueError("a record holds an infinite value; use NaN for a missing one")
    raise ValueError(
        f"a feature is {beyond[0]:g}, beyond {LARGEST:g}; rescale the data or mark the value as missing (NaN)"
    )
