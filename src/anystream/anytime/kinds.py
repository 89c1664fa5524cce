"""Which classifier reads which kind of model file. A file names its kind, never code."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_CLASSIFIERS = {
    "bayes-tree": ("anystream.bayes_tree", "BayesTreeClassifier"),
    "dynamic-weighted-majority": ("anystream.drift", "DynamicWeightedMajority"),
    "kaog": ("anystream.graph", "KAOGClassifier"),
    "kaoginc": ("anystream.graph", "KAOGINCClassifier"),
    "locust": ("anystream.subspace", "LocustClassifier"),
    "locust-blocks": ("anystream.subspace", "BlockLocustClassifier"),
    "micro-clusters": ("anystream.microclusters", "MicroClusterClassifier"),
    "naive-bayes": ("anystream.drift", "GaussianNaiveBayes"),
    "neighbors": ("anystream.neighbors", "AnytimeNeighborsClassifier"),
    "online-tree": ("anystream.drift", "OnlineTree2"),
    "sea-ensemble": ("anystream.drift", "SEAEnsemble"),
    "wcea": ("anystream.drift", "WCEA"),
}


def known_kinds() -> tuple[str, ...]:
    """All kinds, sorted."""
    return tuple(sorted(_CLASSIFIERS))


def classifier_of(kind: str) -> Any:
    """The class that reads files of a kind; its room is imported now, and a KeyError says that there is none."""
    module, name = _CLASSIFIERS[kind]
    return getattr(import_module(module), name)
