"""Data for the tests of nearest neighbours."""

import numpy as np


def make_vectors(seed, n=30, d=5):
    """Training records of unequal scales, labels of three classes, and 8 queries."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * rng.random(d) * 3, rng.integers(0, 3, n), rng.normal(size=(8, d))


def make_stream(seed, n, d=2, classes=3):
    """Records of one Gaussian per class, and their classes."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, d)) * 2
    y = rng.integers(0, classes, n)
    return centres[y] + rng.normal(size=(n, d)), y


def squared_distances(Q, X):
    """Squared Euclidean distance of each query to each record."""
    return ((Q[:, None] - X[None]) ** 2).sum(axis=2)
