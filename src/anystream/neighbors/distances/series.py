"""Distances of series of equal length: dynamic time warping, and Euclidean over all rotations."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.neighbors.distances.base import Distance


class _SeriesDistance(Distance):
    record_type: ClassVar[str] = "series"

    def learn(self, points: NDArray[np.float64]) -> None:
        """Learn nothing: series are compared unchanged."""

    def encode(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the series unchanged."""
        return points

    def decode(self, encoded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the series unchanged."""
        return encoded


class TimeWarpingDistance(_SeriesDistance):
    """Dynamic time warping: the minimum cost of a path that aligns both series.

    Parameters
    ----------
    band : float or int, default=0.1
        Maximum shift of a point in time: a share of the length, or a whole number of points (Sakoe and Chiba's band).
    """

    def __init__(self, band: float = 0.1) -> None:
        super().__init__()
        is_int = isinstance(band, Integral)
        if isinstance(band, bool) or not isinstance(band, Real) or band < 0 or (band > 1 and not is_int):
            raise ValueError(f"band is {band!r}; use a share of the length from 0.0 to 1.0 or a whole number of points")
        self.band: float = band

    @property
    def native_metric(self) -> _native.NeighborsMetric:
        """DTW within the band."""
        width = int(self.learned["width"][0])
        return _native.NeighborsMetric("dtw", width, band=self._band_points(width))

    def comparison_work(self, encoded: Any) -> float:
        """Return the number of cells within the band."""
        width = int(self.learned["width"][0])
        return float(width * min(2 * self._band_points(width) + 1, width))

    def _band_points(self, width: int) -> int:
        band = int(self.band) if isinstance(self.band, Integral) else int(np.ceil(self.band * width))
        return min(band, width)


class RotationDistance(_SeriesDistance):
    """Euclidean distance of closed contours, the minimum over all circular shifts."""

    @property
    def native_metric(self) -> _native.NeighborsMetric:
        """The distance that the paper calls RED and uses for its fish."""
        return _native.NeighborsMetric("rotation", int(self.learned["width"][0]))

    def comparison_work(self, encoded: Any) -> float:
        """Return the square of the length: all shifts are compared."""
        return float(self.learned["width"][0]) ** 2
