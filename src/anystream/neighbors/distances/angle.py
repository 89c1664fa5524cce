"""Cosine and correlation distance: Euclidean on the unit sphere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.neighbors.distances.base import Distance


class AngleDistance(Distance):
    """1 - cos(x, e), of centred records for the correlation.

    Records of length 1 have the squared Euclidean distance 2 (1 - cos), so the order of neighbours and the triangle
    inequality are Euclidean. A record without direction (all zero, or constant for the correlation) gets a direction
    of its own: its distance is 1 to all records that have a direction, and 0 to those that have none.

    Parameters
    ----------
    centred : bool
        Subtract the mean of each record first, which makes the cosine Pearson's correlation.
    """

    def __init__(self, *, centred: bool) -> None:
        super().__init__()
        self.centred = centred

    @property
    def native_metric(self) -> _native.NeighborsMetric:
        """Euclidean, with one more dimension for records without direction."""
        return _native.NeighborsMetric("euclidean", int(self.learned["width"][0]) + 1)

    def learn(self, points: NDArray[np.float64]) -> None:
        """Learn nothing: angles need no training data."""

    def encode(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return records of length 1."""
        if self.centred:
            points = points - points.mean(axis=1, keepdims=True)
        largest = np.abs(points).max(axis=1, keepdims=True)  # dividing by it first keeps squares in range
        shortened = points / np.where(largest > 0, largest, 1.0)
        length = np.sqrt((shortened**2).sum(axis=1, keepdims=True))
        has_direction = length > 0
        unit = np.where(has_direction, shortened / np.where(has_direction, length, 1.0), 0.0)
        return np.hstack([unit, (~has_direction).astype(np.float64)])

    def to_user_distance(self, native_distance: float) -> float:
        """Return 1 - cos."""
        return native_distance * native_distance / 2
