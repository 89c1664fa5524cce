"""Training data of a few overlapping clusters."""

import numpy as np


def blobs(n=200, d=4, classes=3, seed=0):
    """Return n records and their class numbers."""
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    return random.normal(size=(n, d)) + 3 * np.eye(max(classes, d))[y][:, :d], y
