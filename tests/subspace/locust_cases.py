"""Training data and classifiers that several LOCUST tests use."""

import numpy as np

from anystream.subspace import BlockLocustClassifier, LocustClassifier

FORMS = [LocustClassifier, BlockLocustClassifier]


def blobs(n=600, d=4, classes=3, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    return random.normal(size=(n, d)) + 1.5 * y[:, None], y
