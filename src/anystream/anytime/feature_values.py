"""Range check of feature values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MAX_VALUE = 1e100
"""Largest magnitude of a feature: the square of a larger one would overflow a double."""


def check_feature_values(records: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the records if every value is NaN (missing) or within `MAX_VALUE`; else raise ValueError.

    Examples
    --------
    >>> check_feature_values(np.array([[2.0, -1e200]]))
    Traceback (most recent call last):
    ...
    ValueError: a feature is -1e+200, beyond 1e+100; rescale the data or mark the value as missing (NaN)
    """
    # Without an array of magnitudes: the extremes, NaN left out.
    if records.size == 0 or not (
        np.fmax.reduce(records, axis=None) > MAX_VALUE or np.fmin.reduce(records, axis=None) < -MAX_VALUE
    ):
        return records
    beyond = records[np.abs(records) > MAX_VALUE]
    if np.isinf(beyond).any():
        raise ValueError("a record holds an infinite value; use NaN for a missing one")
    raise ValueError(
        f"a feature is {beyond[0]:g}, beyond {MAX_VALUE:g}; rescale the data or mark the value as missing (NaN)"
    )
