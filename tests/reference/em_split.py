"""One split of EMTopDown in plain NumPy: diagonal EM from a Var-Part start, then the most probable component."""

import numpy as np


def var_part(x, k):
    """Split the cluster of the largest scatter at its mean, across its widest dimension, until there are k."""
    clusters = [np.arange(len(x))]
    while len(clusters) < k:
        scatter = [((x[c] - x[c].mean(axis=0)) ** 2).sum(axis=0) for c in clusters]
        widest = int(np.argmax([s.sum() for s in scatter]))
        if scatter[widest].sum() <= 0:
            break
        c, a = clusters[widest], int(np.argmax(scatter[widest]))
        high = x[c, a] > x[c, a].mean()
        clusters[widest] = c[~high]
        clusters.append(c[high])
    return clusters


def log_joint(x, weight, mean, variance):
    """Return the weighted log density of each point under each component."""
    squares = ((x[:, None, :] - mean) ** 2 / variance).sum(axis=2)
    return np.log(weight) - 0.5 * (squares + np.log(2 * np.pi * variance).sum(axis=1))


def log_sum_exp(joint):
    """Return the log of the sum of exponentials along the rows."""
    peak = joint.max(axis=1, keepdims=True)
    return peak[:, 0] + np.log(np.exp(joint - peak).sum(axis=1))


def fit(x, responsibility, floor):
    """Return weights, means and variances under the responsibilities."""
    n = responsibility.sum(axis=0)
    mean = responsibility.T @ x / n[:, None]
    variance = np.stack([r @ (x - m) ** 2 for r, m in zip(responsibility.T, mean, strict=True)]) / n[:, None]
    return n / len(x), mean, np.maximum(variance, floor)


def em_split(x, k, *, iterations=20, tolerance=1e-2):
    """Return the component of each point."""
    x = x - x.mean(axis=0)
    floor = np.maximum(0.5 * k ** (-2 / x.shape[1]) * x.var(axis=0), 1e-9 * x.var(axis=0).max())
    clusters = var_part(x, k)
    responsibility = np.zeros((len(x), len(clusters)))
    for j, members in enumerate(clusters):
        responsibility[members, j] = 1.0
    before = -np.inf
    for _ in range(iterations):
        joint = log_joint(x, *fit(x, responsibility, floor))
        total = log_sum_exp(joint)
        if total.mean() - before <= tolerance:
            break
        before = total.mean()
        responsibility = np.exp(joint - total[:, None])
    return joint.argmax(axis=1)
