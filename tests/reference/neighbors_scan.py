"""Nearest vectors by exhaustive search: every distance in float64, sorted by distance and then by index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def distances(
    x: NDArray[np.float64], rows: NDArray[np.float64], norm: str, categorical: int = 0
) -> NDArray[np.float64]:
    """Return the distance of x to each row; missing values are left out, the rest is weighted up by d / n_present."""
    d = rows.shape[1]
    difference = np.abs(rows - x)
    if norm == "mixed":
        unequal = difference[:, :categorical]
        difference[:, :categorical] = np.where(np.isnan(unequal), np.nan, unequal != 0)
    present = np.sum(~np.isnan(difference), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if norm == "chebyshev":
            result = np.nan_to_num(difference, nan=0.0).max(axis=1)
        elif norm == "euclidean":
            result = np.sqrt(np.nansum(difference**2, axis=1) * d / present)
        else:
            result = np.nansum(difference, axis=1) * d / present
    return np.where(present == 0, np.inf, result)


def nearest(found: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the positions of the k smallest distances; ties go to the lower position."""
    return np.argsort(found, kind="stable")[:k].astype(np.int64)
