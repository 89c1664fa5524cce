"""Scales and weights of the features, updated with every batch: standard deviations and Relief weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anystream import _native
from anystream.graph.array_types import Floats, Numbers
from anystream.graph.steps import Steps, take_all

DECAY = 0.97
"""Factor by which the sums of earlier batches shrink with every batch."""
N_NEIGHBOURS = 5
"""Number of nearest hits and of nearest misses that Relief compares with a record."""
N_PORTIONS = 3
"""Number of portions in which the classes of a batch are compared."""
MIN_WEIGHT = 1e-3
"""Minimum weight relative to the heaviest feature: a feature with weight 0 could never become relevant again."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Running moments and Relief weights of the features; all arrays have the shape (n_features,).

    Parameters
    ----------
    count, total, squares : arrays
        Decayed number, sum and sum of squares of the values so far, as differences from `origin`.
    origin : array
        The mean of the first batch: sums of differences from it lose no digits. NaN before the first value.
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
    def empty(cls, n_features: int) -> Metric:
        """Return the metric before the first batch."""
        zeros = np.zeros(n_features)
        return cls(zeros, zeros, zeros, np.full(n_features, np.nan), zeros)

    def learn_batch(self, points: Floats, labels: Numbers, *, weighted: bool, threads: int) -> Metric:
        """Return the metric after one more batch; Relief weights are updated only if `weighted`."""
        return take_all(self.learning_steps(points, labels, weighted=weighted, threads=threads))

    def learning_steps(self, points: Floats, labels: Numbers, *, weighted: bool, threads: int) -> Steps[Metric]:
        """Take the steps of `learn_batch`."""
        present = ~np.isnan(points)
        count = present.sum(axis=0)
        with np.errstate(invalid="ignore"):
            origin = np.where(np.isnan(self.origin), np.where(present, points, 0.0).sum(axis=0) / count, self.origin)
        values = np.where(present, points - origin, 0.0)
        metric = Metric(
            DECAY * self.count + count,
            DECAY * self.total + values.sum(axis=0),
            DECAY * self.squares + (values * values).sum(axis=0),
            origin,
            self.relief,
        )
        if not weighted:
            return metric
        relief = yield from _relief_steps(points * metric.scale(weighted=False), labels, threads)
        return Metric(metric.count, metric.total, metric.squares, origin, DECAY * self.relief + relief)

    def scale(self, *, weighted: bool) -> Floats:
        """Return the factors of the features: 1 / s.d., times the Relief weight if `weighted`."""
        count = np.maximum(self.count, np.finfo(np.float64).tiny)
        mean = self.total / count
        spread = np.sqrt(np.maximum(self.squares / count - mean * mean, 0.0))
        scale = 1.0 / np.where(spread > 1e-100, spread, 1.0)
        heaviest = self.relief.max(initial=0.0)
        if weighted and heaviest > 0.0:
            scale = scale * np.maximum(self.relief / heaviest, MIN_WEIGHT)
        return np.asarray(scale)

    def merge(self, other: Metric) -> Metric:
        """Return the metric of the batches of both."""
        with np.errstate(invalid="ignore"):
            shift = np.nan_to_num(other.origin - self.origin)
        return Metric(
            self.count + other.count,
            self.total + other.total + other.count * shift,
            self.squares + other.squares + 2.0 * shift * other.total + other.count * shift * shift,
            np.where(np.isnan(self.origin), other.origin, self.origin),
            self.relief + other.relief,
        )

    def with_features(self, n_features: int) -> Metric:
        """Return the metric with `n_features` features; the new ones have no values yet."""
        new = Metric.empty(n_features - len(self.count))
        return Metric(*(np.concatenate([getattr(self, name), getattr(new, name)]) for name in self.__slots__))


def relief_weights(points: Floats, labels: Numbers, threads: int) -> Floats:
    """Return how much farther nearest misses are than nearest hits, by feature: the mean over records with both."""
    return take_all(_relief_steps(points, labels, threads))


def _relief_steps(points: Floats, labels: Numbers, threads: int) -> Steps[Floats]:
    """Take the steps of `relief_weights`, each for some of the classes."""
    total, records = np.zeros(points.shape[1]), 0
    classes = np.unique(labels)
    last_of_portions = np.linspace(0, len(classes), N_PORTIONS + 1).astype(np.int64)[1:] - 1
    for number, label in enumerate(classes):
        if number - 1 in last_of_portions:
            yield 2
        own = labels == label
        inside, outside = np.ascontiguousarray(points[own]), np.ascontiguousarray(points[~own])
        if len(inside) < 2 or len(outside) == 0:
            continue
        hits = np.empty((len(inside), min(N_NEIGHBOURS + 1, len(inside))), np.int64)
        misses = np.empty((len(inside), min(N_NEIGHBOURS, len(outside))), np.int64)
        _native.Points(inside).find_nearest(inside, hits.shape[1], threads, hits)
        _native.Points(outside).find_nearest(inside, misses.shape[1], threads, misses)
        others = hits != np.arange(len(inside))[:, np.newaxis]
        # Duplicates can push the record itself out of its own list of hits: drop the farthest hit instead.
        others[others.all(axis=1), -1] = False
        hits = hits[others].reshape(len(inside), -1)
        records += len(inside)
        total += _mean_differences(inside, outside[misses]) - _mean_differences(inside, inside[hits])
    yield 2
    return total / max(records, 1)


def _mean_differences(points: Floats, neighbours: Floats) -> Floats:
    """Return the sum over records of the mean absolute difference to their neighbours, by feature."""
    return np.asarray(np.nan_to_num(np.abs(points[:, np.newaxis] - neighbours)).mean(axis=1).sum(axis=0))
