"""Classifiers of every kind that learn incrementally, for tests that hold for all of them."""

import numpy as np

from anystream import (
    AnytimeNeighborsClassifier,
    BayesTreeClassifier,
    KAOGINCClassifier,
    LocustClassifier,
    MicroClusterClassifier,
)
from anystream.drift import WCEA, DynamicWeightedMajority, GaussianNaiveBayes, OnlineTree2, SEAEnsemble
from anystream.subspace import BlockLocustClassifier


def manhattan(a, b):
    return float(np.abs(np.asarray(a) - np.asarray(b)).sum())


INCREMENTAL = {
    "bayes-tree": lambda: BayesTreeClassifier(n_jobs=1),
    "neighbors": lambda: AnytimeNeighborsClassifier(n_jobs=1),
    "neighbors, inverted": lambda: AnytimeNeighborsClassifier(search="inverted", n_jobs=1),
    "neighbors, python metric": lambda: AnytimeNeighborsClassifier(metric=manhattan, window=60),
    "locust": lambda: LocustClassifier(n_jobs=1),
    "locust-blocks": lambda: BlockLocustClassifier(block_size=60, n_jobs=1),
    "micro-clusters": lambda: MicroClusterClassifier(n_clusters=40, n_jobs=1),
    "kaoginc": lambda: KAOGINCClassifier(batch_size=30, n_jobs=1),
    "naive-bayes": GaussianNaiveBayes,
    "sea-ensemble": lambda: SEAEnsemble(chunk_size=40),
    "dynamic-weighted-majority": DynamicWeightedMajority,
    "dynamic-weighted-majority of trees": lambda: DynamicWeightedMajority(BayesTreeClassifier(n_jobs=1)),
    "wcea": lambda: WCEA(chunk_size=40),
    "online-tree": OnlineTree2,
}
"""A function that returns an unfitted classifier, for every kind of `anystream.models` that has `partial_fit`."""


def clusters(n, classes, seed=0, features=3):
    """Return records around one centre per class, and their labels: texts."""
    random = np.random.default_rng(seed)
    numbers = np.arange(n) % classes
    centres = np.random.default_rng(99).uniform(-5, 5, (64, features))
    return centres[numbers % 64] + random.normal(size=(n, features)), np.array([f"class {c}" for c in numbers])
