"""The Bayes tree in plain NumPy, after Kranen, Hassani and Seidl (BT*); symbols as in the paper.

Everything is computed from the records and from the children of every node. Log densities are natural and double.
"""

from dataclasses import dataclass, field

import numpy as np

FLOOR = 1e-6


@dataclass
class Entry:
    """A Gaussian: one record (a kernel) or the summary of a node."""

    label: int
    n: int
    mu: np.ndarray
    variance: np.ndarray
    node: int  # -1 for a kernel


@dataclass
class Tree:
    """The nodes of all classes, each a list of entries, and the root entry of each class (None without records)."""

    nodes: dict = field(default_factory=dict)
    roots: list = field(default_factory=list)


def standardisation(X):
    """Return shift and scale; a constant or empty dimension has the scale 1."""
    shift, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    for j, column in enumerate(X.T):
        seen = column[~np.isnan(column)]
        if seen.size:
            shift[j] = seen.mean()
        if seen.size and seen.min() < seen.max():
            scale[j] = seen.std()
    return shift, scale


def kernel_variances(Z, bandwidth, alpha, n):
    """Return the kernel variances of a class of n records (Eq. 17-19), in the standardised space."""
    d = Z.shape[1]
    h2 = np.full(d, alpha)
    for j, column in enumerate(Z.T):
        seen = column[~np.isnan(column)]
        if bandwidth == "langley":
            h2[j] = ((seen.max() - seen.min()) ** 2 / n) if seen.size else 0.0
        if bandwidth == "haerdle":
            h2[j] = (4 / ((d + 2) * n)) ** (2 / (d + 4)) * (seen.var() if seen.size else 0.0)
    return np.maximum(h2, FLOOR)


def build(X, y, n_classes, children, roots, *, bandwidth="factor", alpha=0.05, inner_variance="max"):
    """Return the Gaussians of all entries and the standardised records, from the records and the structure."""
    shift, scale = standardisation(X)
    Z = (X - shift) / scale
    tree = Tree()
    for label in range(n_classes):
        own = Z[y == label]
        if not len(own):
            tree.roots.append(None)
            continue
        # One record has no range and no deviation: it takes those of all data, and the average size of a class.
        lone = len(own) == 1
        size = len(Z) / len(np.unique(y)) if lone else len(own)
        h2 = kernel_variances(Z if lone else own, bandwidth, alpha, size)
        seen = ~np.isnan(own)
        count = seen.sum(axis=0)
        mean = np.array([own[seen[:, j], j].mean() if count[j] else 0.0 for j in range(own.shape[1])])
        var = np.array([own[seen[:, j], j].var() if count[j] else 1.0 for j in range(own.shape[1])])

        def summary(child, label=label, h2=h2, mean=mean, var=var):
            """Return the entry for a child, and its statistics n, LS / n and SS / n."""
            if child < 0:
                z = Z[~child]
                missing = np.isnan(z)
                mu = np.where(missing, mean, z)
                unknown = np.where(missing, var, 0.0)
                return Entry(label, 1, mu, h2 + unknown, -1), 1, mu, unknown + mu**2
            parts = [summary(c) for c in children[child]]
            tree.nodes[child] = [entry for entry, *_ in parts]
            n = sum(part[1] for part in parts)
            first = sum(part[1] * part[2] for part in parts) / n
            second = sum(part[1] * part[3] for part in parts) / n
            variance = second - first**2  # Eq. 5
            floor = h2 if inner_variance == "max" else FLOOR
            return Entry(label, n, first, np.maximum(variance, floor), child), n, first, second

        tree.roots.append(summary(roots[label])[0])
    return tree, (X - shift) / scale


def log_g(z, entry):
    """Return log g (Eq. 2, with the square root of the determinant); a missing dimension is integrated out."""
    seen = ~np.isnan(z)
    apart, variance = (z - entry.mu)[seen], entry.variance[seen]
    return float(-0.5 * np.sum(apart**2 / variance + np.log(2 * np.pi * variance)))


def log_joint(z, frontier):
    """Return log of sum_e n_e g(z, e): the joint density times the number of all records (Eq. 7)."""
    if not frontier:
        return -np.inf
    return float(np.logaddexp.reduce([np.log(entry.n) + log_g(z, entry) for entry in frontier]))


def log_nearest(z, frontier):
    """Return the log of the strongest component (Eq. 21)."""
    return max((np.log(entry.n) + log_g(z, entry) for entry in frontier), default=-np.inf)


def posterior(log_scores):
    """Return probabilities from logarithms of scores."""
    log_scores = np.asarray(log_scores)
    scores = np.exp(log_scores - log_scores.max())
    return scores / scores.sum()


def kernel_density_posterior(X, y, n_classes, queries, alpha=0.05):
    """Return the probabilities of the complete model, without a tree: kernel densities with the f-alpha bandwidth."""
    shift, scale = standardisation(X)
    Z, Q = (X - shift) / scale, (queries - shift) / scale
    out = []
    for q in Q:
        exponents = -0.5 * ((Z - q) ** 2).sum(axis=1) / alpha
        scores = [np.logaddexp.reduce(exponents[y == c]) if (y == c).any() else -np.inf for c in range(n_classes)]
        out.append(posterior(scores))
    return np.array(out)
