"""Cosine and correlation distance: Euclidean on the unit sphere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.neighbors.distances.base import Distance


class Angle(Distance):
    """1 - cos(x, e), of centred records for the correlation.

    Records of length 1 have the squared Euclidean distance 2 (1 - cos), so the order of neighbours and the triangle
    inequality are Euclidean. A record without direction (all zero, or constant for the correlation) gets one of its
    own: it has distance 1 from all others, 0 from its like.
    """

    def __init__(self, *, centred: bool) -> None:
        super().__init__()
        self.centred = centred

    @property
    def native(self) -> _native.NeighborsMetric:
        """Euclidean, with one more dimension for records without direction."""
        return _native.NeighborsMetric("euclidean", int(self.learned["width"][0]) + 1)

    def learn(self, points: NDArray[np.float64]) -> None:
        """An angle needs no training."""

    def rows(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Records of length 1."""
        if self.centred:
            points = points - points.mean(axis=1, keepdims=True)
        largest = np.abs(points).max(axis=1, keepdims=True)  # dividing by it first keeps squares in range
        shortened = points / np.where(largest > 0, largest, 1.0)
        length = np.sqrt((shortened**2).sum(axis=1, keepdims=True))
        somewhere = length > 0
        unit = np.where(somewhere, shortened / np.where(somewhere, length, 1.0), 0.0)
        return np.hstack([unit, (~somewhere).astype(np.float64)])

    def distance(self, native: float) -> float:
        """1 - cos."""
        return native * native / 2
