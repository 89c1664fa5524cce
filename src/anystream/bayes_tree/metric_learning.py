"""Learning of metrics from labelled points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.bayes_tree.metric import Metric, parse_metric
from anystream.progress import run_interruptibly

_KNOTS = 128
_SHRINKAGE = 0.1
_STEPS, _RATE = 80, 0.1  # of Adam


def learn_metric(
    metric: str | None, points: NDArray[np.float64], numbers: NDArray[np.int32], seed: int, threads: int = 0
) -> Metric | None:
    """Return the metric of this name for points of classes `numbers`; None for None.

    NaN stands for a missing value, 0 threads means one per core.

    ``"quantile"``
        Each feature becomes the normal score of its rank: skewed features spread out.
    ``"whiten"``
        The covariance within the classes becomes (nearly) the identity: features that vary together inside the classes
        lose weight. It is shrunk towards its diagonal by a tenth.
    ``"diagonal"``
        One weight per feature, learned by gradient ascent on the leave-one-out probability of the correct class under
        kernels (neighbourhood components analysis with a diagonal matrix).
    """
    maps = parse_metric(metric)
    if not maps:
        return None
    found = Metric(np.zeros(points.shape[1]))
    if "quantile" in maps:
        knots, levels = _curves(points)
        found = replace(found, knots=knots, levels=levels)
        points = found.apply(points, threads)
    shift = _columns_mean(points)
    scale = _columns_scale(points, shift)
    found = replace(found, shift=shift)
    if "whiten" in maps:
        z = (points - shift) / scale
        matrix = run_interruptibly(lambda: _whitening(z, numbers, scale))  # seconds for thousands of features
        return replace(found, matrix=matrix.reshape(-1))
    if "diagonal" in maps:
        return replace(found, factor=_learn_weights((points - shift) / scale, numbers, seed, threads) / scale)
    return replace(found, factor=1.0 / scale)


def _columns_mean(points: NDArray[np.float64]) -> NDArray[np.float64]:
    seen = ~np.isnan(points)
    return np.asarray(np.where(seen, points, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))


def _columns_scale(points: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return standard deviations; 1 for a feature that never varies."""
    scale = np.sqrt(_columns_mean((points - mean) ** 2))
    return np.where(scale > 1e-12 * np.maximum(1.0, np.abs(mean)), scale, 1.0)


def _curves(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values of each feature and their normal scores, `_KNOTS` of each."""
    from scipy.special import ndtri  # imported here because it is slow to import

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
        levels.append(ndtri(np.append(ranks, np.full(short, ranks[-1]))))
    return np.concatenate(knots), np.concatenate(levels)


def _whitening(z: NDArray[np.float64], numbers: NDArray[np.int32], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each feature adds to the whitened space; z = (x - shift) / scale."""
    z = np.where(np.isnan(z), 0.0, z)
    within = np.zeros((z.shape[1], z.shape[1]))
    for number in np.unique(numbers):
        apart = z[numbers == number] - z[numbers == number].mean(axis=0)
        within += apart.T @ apart
    within /= len(z)
    within = (1 - _SHRINKAGE) * within + _SHRINKAGE * np.diag(np.diag(within))
    within += 1e-6 * np.eye(len(within))  # a feature that is constant within every class
    values, vectors = np.linalg.eigh(within)
    root = vectors / np.sqrt(np.maximum(values, 1e-6)) @ vectors.T
    return np.asarray(root / scale[:, np.newaxis])


def _learn_weights(z: NDArray[np.float64], numbers: NDArray[np.int32], seed: int, threads: int) -> NDArray[np.float64]:
    """Return factors of the standardised features with mean square 1, by Adam on batches."""
    z = np.where(np.isnan(z), 0.0, z)
    n, d = z.shape
    batch_size = min(n, max(64, min(256, 16_384 // d)))  # the cost of a pair grows with the features
    random = np.random.default_rng(seed)
    theta = np.full(d, np.log(2.0 / d))  # the logarithms of the weights of squared differences
    first, second, gradient = np.zeros(d), np.zeros(d), np.empty(d)
    for step in range(1, _STEPS + 1):
        batch = random.choice(n, batch_size, replace=False)
        _native.neighbour_gradient(z[batch], numbers[batch], np.exp(theta), threads, gradient)
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        theta += _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        theta = np.maximum(theta, theta.max() - 14.0)
    weight = np.exp(theta - theta.max())
    return np.asarray(np.sqrt(weight / weight.mean()))
