"""Distances of series of equal length: dynamic time warping, and Euclidean over all rotations."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.neighbors.distances.base import Distance


class _Series(Distance):
    records: ClassVar[str] = "series"

    def learn(self, points: NDArray[np.float64]) -> None:
        """Series are compared as they are."""

    def rows(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """The series themselves."""
        return points

    def points(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rows themselves."""
        return rows


class TimeWarping(_Series):
    """Dynamic time warping: the least cost of walking through both series side by side.

    Parameters
    ----------
    band : float or int, default=0.1
        How far time may be bent: a share of the length, or a whole number of places (Sakoe and Chiba's band).
    """

    def __init__(self, band: float = 0.1) -> None:
        super().__init__()
        whole = isinstance(band, Integral)
        if isinstance(band, bool) or not isinstance(band, Real) or band < 0 or (band > 1 and not whole):
            raise ValueError(f"band is {band!r}; use a share of the length from 0.0 to 1.0 or a whole number of places")
        self.band: float = band

    @property
    def native(self) -> _native.NeighborsMetric:
        """DTW within the band."""
        width = int(self.learned["width"][0])
        band = int(self.band) if isinstance(self.band, Integral) else int(np.ceil(self.band * width))
        return _native.NeighborsMetric("dtw", width, band=min(band, width))


class Turning(_Series):
    """Euclidean distance of closed contours, least over all circular shifts."""

    @property
    def native(self) -> _native.NeighborsMetric:
        """RED of the paper's fish."""
        return _native.NeighborsMetric("rotation", int(self.learned["width"][0]))
