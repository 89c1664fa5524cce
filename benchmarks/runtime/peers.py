"""Classifiers that know no budget, behind the face that the engine asks for."""

import sys
import time
from copy import copy
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from anystream.anytime.answer import Answer

BATCH = 256  # records of a batch in which capacity is measured


class Peer:
    """A classifier that answers a batch at its own cost, whatever the budget, with one thread or with all."""

    def __init__(self, model: Any, n_features: int, classes: Any, threads: int | None) -> None:
        self.model = model
        self.classes_ = np.asarray(classes)
        self.n_features_in_ = n_features
        self.threads = threads

    def classify(self, X: Any, *, budget: Any) -> Answer:
        if self.threads is None:
            proba = self.model.predict_proba(X)
        else:
            with threadpool_limits(self.threads):
                proba = self.model.predict_proba(X)
        ones = np.ones(len(X), dtype=np.int64)
        return Answer(self.classes_[proba.argmax(axis=1)], proba, ones, ones.astype(bool), 0.0)


class River:
    """One of river's classifiers under scikit-learn's names."""

    def __init__(self, model: Any, classes: Any) -> None:
        self.model = model
        self.places = {label: place for place, label in enumerate(classes.tolist())}

    def fit(self, X: Any, y: Any) -> "River":
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(enumerate(row)), label)
        return self

    def predict_proba(self, X: Any) -> Any:
        proba = np.full((len(X), len(self.places)), 1e-12)
        for out, row in zip(proba, X.tolist(), strict=True):
            for label, share in self.model.predict_proba_one(dict(enumerate(row))).items():
                out[self.places[label]] = share
        return proba


def all_peers(X: Any, y: Any, test: Any, *, seed: int, only: list[str] | None, one_core: bool) -> dict[str, Peer]:
    """The fitted peers by name, each with the number of threads that answers a batch sooner."""
    peers = {}
    for name, make in _makers(seed).items():
        if only is not None and name not in only:
            continue
        model = make()
        if model is None:
            print(f"{name} is left out: river is not installed", file=sys.stderr)
            continue
        print(f"training {name}", file=sys.stderr)
        if name.startswith("river"):
            model = River(model, np.unique(y))
        with threadpool_limits(1):  # threads that spin for each other take minutes on a busy machine
            model.fit(X, y)
        one = Peer(model, X.shape[1], np.unique(y), 1)
        peers[name] = one
        if not one_core and hasattr(model, "n_jobs") | name.startswith("Hist"):
            twin = copy(model)
            if hasattr(twin, "n_jobs"):
                twin.n_jobs = -1
            every = Peer(twin, X.shape[1], np.unique(y), None)
            peers[name] = max((one, every), key=lambda peer: capacity(peer, test, time.perf_counter))
    return peers


def capacity(peer: Any, X: Any, timer: Any, repeats: int = 5) -> float:
    """Records per second in batches of 256, the best of some repeats."""
    rows = X[np.arange(BATCH) % len(X)]
    best = np.inf
    for _ in range(repeats):
        began = timer()
        peer.classify(rows, budget=None)
        best = min(best, timer() - began)
    return BATCH / best


def _makers(seed: int) -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    def river(make: Any) -> Any:
        try:
            from river import forest, tree
        except ImportError:
            return None
        return make(forest, tree)

    return {
        "RandomForest": lambda: RandomForestClassifier(100, random_state=seed),
        "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=seed),
        "k-NN": lambda: KNeighborsClassifier(5),
        "GaussianNB": GaussianNB,
        "river ARF": lambda: river(lambda forest, tree: forest.ARFClassifier(seed=seed)),
        "river HoeffdingTree": lambda: river(lambda forest, tree: tree.HoeffdingTreeClassifier()),
    }
