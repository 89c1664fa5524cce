"""Which features count, and how much: spreads and Relief weights that follow the stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anystream import _native

Floats = NDArray[np.float64]

DECAY = 0.97
"""What a batch leaves of the batches before it."""
NEIGHBOURS = 5
"""Nearest hits and misses that a record is held against."""
LEAST_WEIGHT = 1e-3
"""Of the heaviest feature: none is ever shut out, so none is lost for good."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Running moments and Relief weights of the features; all arrays have the shape (n_features,).

    Parameters
    ----------
    count, total, squares : arrays
        Decayed number, sum and sum of squares of the values seen, as distances from `origin`.
    origin : array
        The mean of the first batch: sums around it lose no digits.
    relief : array
        Decayed sum of how much farther nearest misses are than nearest hits, in standard deviations [1]_.

    References
    ----------
    .. [1] Kononenko, "Estimating attributes: analysis and extensions of RELIEF", ECML 1994.
    """

    count: Floats
    total: Floats
    squares: Floats
    origin: Floats
    relief: Floats

    @classmethod
    def none(cls, n_features: int) -> Metric:
        """Nothing is known of the features."""
        nothing = np.zeros(n_features)
        return cls(nothing, nothing, nothing, np.full(n_features, np.nan), nothing)

    def after(self, points: Floats, labels: NDArray[np.int32], *, weighted: bool, threads: int) -> Metric:
        """The metric after one more batch; Relief weights are left alone unless `weighted`."""
        present = ~np.isnan(points)
        count = present.sum(axis=0)
        with np.errstate(invalid="ignore"):
            origin = np.where(np.isnan(self.origin), np.where(present, points, 0.0).sum(axis=0) / count, self.origin)
        values = np.where(present, points - origin, 0.0)
        grown = Metric(
            DECAY * self.count + count,
            DECAY * self.total + values.sum(axis=0),
            DECAY * self.squares + (values * values).sum(axis=0),
            origin,
            self.relief,
        )
        if not weighted:
            return grown
        relief = relief_weights(points * grown.scale(weighted=False), labels, threads)
        return Metric(grown.count, grown.total, grown.squares, origin, DECAY * self.relief + relief)

    def scale(self, *, weighted: bool) -> Floats:
        """What features are multiplied by: 1 / s.d., times the Relief weight if `weighted`."""
        count = np.maximum(self.count, np.finfo(np.float64).tiny)
        mean = self.total / count
        spread = np.sqrt(np.maximum(self.squares / count - mean * mean, 0.0))
        scale = 1.0 / np.where(spread > 1e-100, spread, 1.0)
        heaviest = self.relief.max(initial=0.0)
        if weighted and heaviest > 0.0:
            scale = scale * np.maximum(self.relief / heaviest, LEAST_WEIGHT)
        return np.asarray(scale)

    def merged(self, other: Metric) -> Metric:
        """The metric of both parts."""
        with np.errstate(invalid="ignore"):
            shift = np.nan_to_num(other.origin - self.origin)
        return Metric(
            self.count + other.count,
            self.total + other.total + other.count * shift,
            self.squares + other.squares + 2.0 * shift * other.total + other.count * shift * shift,
            np.where(np.isnan(self.origin), other.origin, self.origin),
            self.relief + other.relief,
        )

    def widened(self, n_features: int) -> Metric:
        """The same with further features of which nothing is known."""
        more = Metric.none(n_features - len(self.count))
        return Metric(*(np.concatenate([getattr(self, name), getattr(more, name)]) for name in self.__slots__))


def relief_weights(points: Floats, labels: NDArray[np.int32], threads: int) -> Floats:
    """How much farther nearest misses are than nearest hits, by feature: the mean over records that have both."""
    total, records = np.zeros(points.shape[1]), 0
    for label in np.unique(labels):
        own = labels == label
        inside, outside = np.ascontiguousarray(points[own]), np.ascontiguousarray(points[~own])
        if len(inside) < 2 or len(outside) == 0:
            continue
        hits = np.empty((len(inside), min(NEIGHBOURS + 1, len(inside))), np.int64)
        misses = np.empty((len(inside), min(NEIGHBOURS, len(outside))), np.int64)
        _native.nearest_points(inside, inside, hits.shape[1], threads, hits)
        _native.nearest_points(outside, inside, misses.shape[1], threads, misses)
        others = hits != np.arange(len(inside))[:, np.newaxis]
        others[others.all(axis=1), -1] = False  # equals hid the record itself: leave out the farthest instead
        hits = hits[others].reshape(len(inside), -1)
        records += len(inside)
        total += _mean_differences(inside, outside[misses]) - _mean_differences(inside, inside[hits])
    return total / max(records, 1)


def _mean_differences(points: Floats, neighbours: Floats) -> Floats:
    """The sum over records of the mean absolute difference to their neighbours, by feature."""
    return np.asarray(np.nan_to_num(np.abs(points[:, np.newaxis] - neighbours)).mean(axis=1).sum(axis=0))
