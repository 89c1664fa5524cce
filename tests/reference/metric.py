"""Learned metrics in plain NumPy."""

import numpy as np


def neighbour_objective(Z, y, weight):
    """Return the mean log probability of the correct class when each point is classified by kernels over the others.

    Kernels below e^-30 of the nearest count as 0; a point without a kernel of its own class does not count.
    """
    distance = ((Z[:, None, :] - Z[None, :, :]) ** 2 * weight).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    apart = distance - distance.min(axis=1, keepdims=True)
    kernel = np.where(apart < 30, np.exp(-apart), 0.0)
    correct = (kernel * (y[:, None] == y)).sum(axis=1) / kernel.sum(axis=1)
    return np.where(correct > 0, np.log(np.where(correct > 0, correct, 1.0)), 0.0).mean()


def apply(X, metric):
    """Map each feature along its curve, shift it, then apply the linear map."""
    d = len(metric.shift)
    Y = X.copy()
    if len(metric.knots):
        knots, levels = metric.knots.reshape(d, -1), metric.levels.reshape(d, -1)
        for j in range(d):
            if knots[j, 0] == knots[j, -1]:  # no curve
                continue
            Y[:, j] = np.where(np.isnan(X[:, j]), np.nan, np.interp(X[:, j], knots[j], levels[j]))
    Y = Y - metric.shift
    if len(metric.matrix):
        return np.where(np.isnan(Y), 0.0, Y) @ metric.matrix.reshape(d, d)
    return Y * metric.factor if len(metric.factor) else Y


def complement_basis(directions, axes):
    """Return orthonormal rows that are orthogonal to the directions, one near each axis that is not in `axes`.

    Each direction is reflected to its axis by an explicit matrix, one after the other.
    """
    d = directions.shape[1]
    product = np.eye(d)
    for s, axis in enumerate(axes):
        v = directions[s] @ product
        v[axes[:s]] = 0.0
        normal = v.copy()
        normal[axis] += np.linalg.norm(v) * (-1 if v[axis] < 0 else 1)
        product = product @ (np.eye(d) - 2 * np.outer(normal, normal) / (normal @ normal))
    return product.T[[j for j in range(d) if j not in set(axes)]]
