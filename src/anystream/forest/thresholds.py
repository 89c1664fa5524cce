"""Thresholds that mean *at most* for every comparison and precision of the frameworks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ZERO = float(np.float32(1e-35))
"""LightGBM takes values from -ZERO to ZERO for zero."""


def round_down(thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest float32 number up to each threshold: for float32 values, ``<=`` decides alike.

    Examples
    --------
    >>> float(round_down(np.array([0.1]))[0])  # float32(0.1) is above 0.1
    0.09999999403953552
    """
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(np.float32)
        lower = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest > thresholds, lower, nearest).astype(np.float64)


def step_below(thresholds: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the float32 number before each threshold: for float32 values, ``<=`` decides as ``<`` did.

    Nothing is below minus infinity; the threshold NaN that stands for it is invalid in an ensemble.
    """
    with np.errstate(over="ignore"):
        lower = np.nextafter(thresholds, np.float32(-np.inf)).astype(np.float64)
    return np.where(thresholds == -np.inf, np.nan, lower)


def skip_zero(thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return thresholds that send all values from -ZERO to ZERO the same way as 0."""
    inside = np.abs(thresholds) <= ZERO
    return np.where(inside, np.where(thresholds >= 0, ZERO, np.nextafter(-ZERO, -1.0)), thresholds)
