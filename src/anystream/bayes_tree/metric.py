"""Spaces in which Euclidean distance tells the classes apart, learned from training data."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from anystream import _native

METRICS = ("whiten", "quantile", "diagonal")
"""The steps a metric is made of; ``"quantile+diagonal"`` is one after the other."""

_KNOTS = 128
_SHRINKAGE = 0.1


def _nothing() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Metric:
    """A map of records, one feature along its curve and then all of them through a linear map.

    A missing value stays missing, except under a full matrix, where it counts as the mean.
    """

    shift: NDArray[np.float64]  # (d,)
    knots: NDArray[np.float64] = field(default_factory=_nothing)  # (d * k,) ascending values per feature, or nothing
    levels: NDArray[np.float64] = field(default_factory=_nothing)  # (d * k,) what they become
    factor: NDArray[np.float64] = field(default_factory=_nothing)  # (d,) or nothing
    matrix: NDArray[np.float64] = field(default_factory=_nothing)  # (d * d,) row j: what feature j adds; or nothing

    @cached_property
    def native(self) -> _native.BayesMetric:
        """The same for native code."""
        return _native.BayesMetric(self.shift, self.knots, self.levels, self.factor, self.matrix)

    def apply(self, records: NDArray[np.float64], threads: int = 0) -> NDArray[np.float64]:
        """Records, one per row, in the space of the metric; 0 threads are one per core."""
        out = np.empty_like(records)
        self.native.apply(records, threads, out)
        return out

    def undo(self, mapped: NDArray[np.float64]) -> NDArray[np.float64]:
        """The records that `apply` has mapped, but for rounding and for what it cannot know any more.

        That is a value outside the range that a curve was learned on, which comes back as the end of the range, and a
        value that was missing under a full matrix, which comes back as the mean.
        """
        if len(self.matrix):
            records = np.linalg.solve(self.matrix.reshape(len(self.shift), -1).T, mapped.T).T
        else:
            records = mapped / self.factor if len(self.factor) else mapped.copy()
        records += self.shift
        if len(self.knots):
            curves = zip(*(each.reshape(len(self.shift), -1) for each in (self.knots, self.levels)), strict=True)
            for column, (knots, levels) in enumerate(curves):
                if knots[0] < knots[-1]:
                    records[:, column] = np.interp(records[:, column], levels, knots)
        return np.ascontiguousarray(records)

    def widened(self, n_features: int) -> Self:
        """The same for records with further features, which are taken as they are."""
        d = len(self.shift)
        added = n_features - d
        if added <= 0:
            return self
        changes = {"shift": np.append(self.shift, np.zeros(added))}
        if len(self.factor):
            changes["factor"] = np.append(self.factor, np.ones(added))
        if len(self.matrix):
            whole = np.eye(n_features)
            whole[:d, :d] = self.matrix.reshape(d, d)
            changes["matrix"] = whole.reshape(-1)
        if len(self.knots):
            none = np.zeros(len(self.knots) // d * added)  # equal knots: no curve
            changes |= {"knots": np.append(self.knots, none), "levels": np.append(self.levels, none)}
        return replace(self, **changes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and all(
            np.array_equal(getattr(self, each.name), getattr(other, each.name)) for each in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # nobody changes it


def check_metric(metric: object) -> tuple[str, ...]:
    """The steps of a metric's name; none for None."""
    if metric is None:
        return ()
    steps = tuple(metric.split("+")) if isinstance(metric, str) else ()
    linear = [step for step in steps if step != "quantile"]
    if not steps or any(step not in METRICS for step in steps) or len(linear) > 1 or len(set(steps)) < len(steps):
        known = ", ".join(map(repr, METRICS))
        raise ValueError(f"metric is {metric!r}; use None, 'auto', one of {known}, or 'quantile+' and another")
    if "quantile" in steps[1:]:
        raise ValueError(f"metric is {metric!r}; 'quantile' comes first: it maps each feature as it is")
    return steps


def learn_metric(
    metric: str, points: NDArray[np.float64], labels: NDArray[np.int32], seed: int, threads: int = 0
) -> Metric:
    """The metric of this name for labelled points; NaN stands for a missing value, 0 threads for one per core.

    ``"quantile"``
        Each feature becomes the normal score of its rank: skewed features spread out.
    ``"whiten"``
        The covariance within the classes becomes (nearly) the identity: features that vary together inside the classes
        lose weight. It is shrunk towards its diagonal by a tenth.
    ``"diagonal"``
        One weight per feature, learned by gradient ascent on the leave-one-out probability of the right class under
        kernels (neighbourhood components analysis with a diagonal matrix).
    """
    steps = check_metric(metric)
    found = Metric(np.zeros(points.shape[1]))
    if "quantile" in steps:
        knots, levels = _curves(points)
        found = replace(found, knots=knots, levels=levels)
        points = found.apply(points, threads)
    shift = _columns_mean(points)
    scale = _columns_scale(points, shift)
    found = replace(found, shift=shift)
    if "whiten" in steps:
        return replace(found, matrix=_whitening((points - shift) / scale, labels, scale).reshape(-1))
    if "diagonal" in steps:
        return replace(found, factor=_learned_weights((points - shift) / scale, labels, seed, threads) / scale)
    return replace(found, factor=1.0 / scale)


def _columns_mean(points: NDArray[np.float64]) -> NDArray[np.float64]:
    seen = ~np.isnan(points)
    return np.asarray(np.where(seen, points, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))


def _columns_scale(points: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviations; 1 for a feature that never varies."""
    scale = np.sqrt(_columns_mean((points - mean) ** 2))
    return np.where(scale > 1e-12 * np.maximum(1.0, np.abs(mean)), scale, 1.0)


def _curves(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each feature values and their normal scores, `_KNOTS` of each."""
    knots, levels = [], []
    for column in points.T:
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        if len(values) == 0:
            values, counts = np.zeros(1), np.ones(1, dtype=np.int64)
        ranks = (np.cumsum(counts) - 0.5 * counts) / counts.sum()  # of the middle of equal values
        if len(values) > _KNOTS:
            kept = np.unique(np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], _KNOTS)).clip(0, len(values) - 1))
            values, ranks = values[kept], ranks[kept]
        short = _KNOTS - len(values)  # repeat the last knot: the curve is constant there anyway
        knots.append(np.append(values, np.full(short, values[-1])))
        levels.append(norm.ppf(np.append(ranks, np.full(short, ranks[-1]))))
    return np.concatenate(knots), np.concatenate(levels)


def _whitening(z: NDArray[np.float64], labels: NDArray[np.int32], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each feature adds to the whitened space; z = (x - shift) / scale."""
    z = np.where(np.isnan(z), 0.0, z)
    within = np.zeros((z.shape[1], z.shape[1]))
    for label in np.unique(labels):
        apart = z[labels == label] - z[labels == label].mean(axis=0)
        within += apart.T @ apart
    within /= len(z)
    within = (1 - _SHRINKAGE) * within + _SHRINKAGE * np.diag(np.diag(within))
    within += 1e-6 * np.eye(len(within))  # a feature that is constant within every class
    values, vectors = np.linalg.eigh(within)
    root = vectors / np.sqrt(np.maximum(values, 1e-6)) @ vectors.T
    return np.asarray(root / scale[:, np.newaxis])


_STEPS, _RATE = 80, 0.1


def _learned_weights(z: NDArray[np.float64], labels: NDArray[np.int32], seed: int, threads: int) -> NDArray[np.float64]:
    """Factors of the standardised features with mean square 1, by Adam on batches."""
    z = np.where(np.isnan(z), 0.0, z)
    n, d = z.shape
    rows = min(n, max(64, min(256, 16_384 // d)))  # of a batch; pairs cost as much as there are features
    random = np.random.default_rng(seed)
    theta = np.full(d, np.log(2.0 / d))  # the logarithms of the weights of squared differences
    first, second, gradient = np.zeros(d), np.zeros(d), np.empty(d)
    for step in range(1, _STEPS + 1):
        batch = random.choice(n, rows, replace=False)
        _native.neighbour_gradient(z[batch], labels[batch], np.exp(theta), threads, gradient)
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        theta += _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        theta = np.maximum(theta, theta.max() - 14.0)
    weight = np.exp(theta - theta.max())
    return np.asarray(np.sqrt(weight / weight.mean()))
