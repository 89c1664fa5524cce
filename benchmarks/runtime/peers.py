"""Classifiers without a budget, with the interface that the engine needs."""

import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from copy import copy
from multiprocessing import get_context
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from anystream.anytime.answer import Answer
from benchmarks.forest.engines import NotInstalled, onnx_runtime

_SLOWEST_FIRST = [
    *("river ARF", "HistGradientBoosting", "LightGBM", "river HoeffdingTree", "RandomForest", "k-NN", "GaussianNB"),
]
IN_ONNX = "RandomForest in ONNX Runtime"
BATCH = 256  # records per batch when capacity is measured


class Peer:
    """A classifier that classifies a batch at its own cost, whatever the budget, with one thread or with all."""

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
    """A classifier of river with the methods of scikit-learn."""

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


def start_fitting(X: Any, y: Any, *, seed: int, only: list[str] | None) -> dict[str, Future[Any]]:
    """Start to fit the peers in processes of their own; return their futures by name."""
    names = [name for name in _makers(seed) if only is None or name in only]
    pool = ProcessPoolExecutor(2, mp_context=get_context("spawn"))  # threads of OpenMP do not survive a fork
    fitting = {name: pool.submit(fit_peer, name, seed, X, y) for name in sorted(names, key=_SLOWEST_FIRST.index)}
    pool.shutdown(wait=False)
    return {name: fitting[name] for name in names}


def fit_peer(name: str, seed: int, X: Any, y: Any) -> Any:
    """Return a fitted model, or None if its package is not installed."""
    model = _makers(seed)[name]()
    if model is None:
        return None
    if name.startswith("river"):
        model = River(model, np.unique(y))
    with threadpool_limits(1):  # spinning threads take minutes on a busy machine
        return model.fit(X, y)


def all_peers(fitting: dict[str, Future[Any]], classes: Any, test: Any, *, one_core: bool) -> dict[str, Peer]:
    """Return the fitted peers by name, each with the number of threads that is faster for a batch."""
    fitted = {name: found.result() for name, found in fitting.items()}  # measure only after all are fitted
    peers = {}
    for name, model in fitted.items():
        if model is None:
            print(f"{name} is left out: its package is not installed", file=sys.stderr)
            continue
        one = Peer(model, test.shape[1], classes, 1)
        peers[name] = one
        if not one_core and hasattr(model, "n_jobs") | name.startswith("Hist"):
            twin = copy(model)
            if hasattr(twin, "n_jobs"):
                twin.n_jobs = -1
            every = Peer(twin, test.shape[1], classes, None)
            peers[name] = max((one, every), key=lambda peer: capacity(peer, test, time.perf_counter))
    if "RandomForest" in peers:
        try:
            peers[IN_ONNX] = _in_onnx(peers["RandomForest"].model, classes, test, one_core=one_core)
        except NotInstalled as error:
            print(f"{IN_ONNX} is left out: {error}", file=sys.stderr)
    return peers


class InOnnx:
    """A model that ONNX Runtime runs, with the methods of scikit-learn."""

    def __init__(self, model: Any, n_features: int, threads: int) -> None:
        self._predict, self._kind = onnx_runtime(model, n_features, threads)

    def predict_proba(self, X: Any) -> Any:
        return self._predict(X.astype(self._kind))


def _in_onnx(model: Any, classes: Any, test: Any, *, one_core: bool) -> Peer:
    tries = [
        Peer(InOnnx(model, test.shape[1], threads), test.shape[1], classes, None)
        for threads in ((1,) if one_core else (1, 0))
    ]
    return max(tries, key=lambda peer: capacity(peer, test, time.perf_counter))


def capacity(peer: Any, X: Any, timer: Any, repeats: int = 5) -> float:
    """Return the records per second in batches of 256, the best of several repeats."""
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

    def boosted() -> Any:
        try:
            from lightgbm import LGBMClassifier
        except ImportError:
            return None
        return LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1, random_state=seed)

    return {
        "RandomForest": lambda: RandomForestClassifier(100, random_state=seed),
        "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=seed, early_stopping=False),
        "LightGBM": boosted,
        "k-NN": lambda: KNeighborsClassifier(5),
        "GaussianNB": GaussianNB,
        "river ARF": lambda: river(lambda forest, tree: forest.ARFClassifier(seed=seed)),
        "river HoeffdingTree": lambda: river(lambda forest, tree: tree.HoeffdingTreeClassifier()),
    }
