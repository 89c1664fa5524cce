"""Euclidean, Manhattan and Chebyshev distance."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.neighbors.distances.base import Distance


class NormDistance(Distance):
    """A norm of the difference. Missing values are left out and the rest is weighted up, as nan_euclidean does.

    Parameters
    ----------
    norm : {"euclidean", "manhattan", "chebyshev"}
        Name of the norm in the native core.
    """

    allows_missing: ClassVar[bool] = True

    def __init__(self, norm: str) -> None:
        super().__init__()
        self.norm = norm

    @property
    def native_metric(self) -> _native.NeighborsMetric:
        """The norm."""
        return _native.NeighborsMetric(self.norm, int(self.learned["width"][0]))

    def learn(self, points: NDArray[np.float64]) -> None:
        """Learn nothing: a norm needs no training data."""

    def encode(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the records unchanged."""
        return points

    def decode(self, encoded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the records unchanged."""
        return encoded

    def add_features(self, n_features: int) -> None:
        """Add features in their own scale, because no value of them was seen yet."""
        n_new = n_features - int(self.learned["width"][0])
        self.learned["width"] = np.array([float(n_features)])
        if self.scaling is not None:
            self.learned["shift"] = np.append(self.learned["shift"], np.zeros(n_new))
            self.learned["unit"] = np.append(self.learned["unit"], np.ones(n_new))
