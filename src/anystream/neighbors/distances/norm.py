"""Euclidean, Manhattan and Chebyshev distance."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.neighbors.distances.base import Distance


class NormDistance(Distance):
    """A norm of the difference. Missing values are left out and the rest is weighted up, as nan_euclidean does."""

    allows_missing: ClassVar[bool] = True

    def __init__(self, norm: str) -> None:
        super().__init__()
        self.norm = norm

    @property
    def native(self) -> _native.NeighborsMetric:
        """The norm."""
        return _native.NeighborsMetric(self.norm, int(self.learned["width"][0]))

    def learn(self, points: NDArray[np.float64]) -> None:
        """A norm learns nothing."""

    def rows(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """The records themselves."""
        return points

    def points(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rows themselves."""
        return rows

    def widen(self, n_features: int) -> None:
        """Further features keep their own scale: nothing is known of them yet."""
        new = n_features - int(self.learned["width"][0])
        self.learned["width"] = np.array([float(n_features)])
        if self.scaling is not None:
            self.learned["shift"] = np.append(self.learned["shift"], np.zeros(new))
            self.learned["unit"] = np.append(self.learned["unit"], np.ones(new))
