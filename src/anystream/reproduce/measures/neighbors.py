"""Measurements of the anytime nearest neighbours paper: curves by exemplar, ordering times, anytime properties."""

from __future__ import annotations

import pickle
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.curve import anytime_curve
from anystream.neighbors import AnytimeNeighborsClassifier, best_drop_curve
from anystream.reproduce.data import load
from anystream.streams import JapaneseFlag

Parts = tuple[Any, NDArray[np.int64], Any, NDArray[np.int64]]
_PARAMETERS: dict[str, dict[str, Any]] = {
    "australian": {"scaling": "minmax"},
    "ionosphere": {"scaling": "minmax"},
    "covtype": {"scaling": "minmax"},
    "letter": {"scaling": "minmax"},
    "TwoPatterns": {"metric": "dtw"},
    "OSULeaf": {"metric": "dtw"},
    "Fish": {"metric": "rotation"},
}
PER_CLASS = 1620
"""Training records of each class of covtype: 11,340 in all, as in the paper."""


def split(problem: str, part: int, max_test: int | None) -> Parts:
    """Return training and test records of a problem; `part` is a draw of JF, or a fold of the small sets."""
    if problem == "JF":
        X, y = JapaneseFlag(seed=part, n_records=20_000).take(20_000)
        return X[:2000], y[:2000], X[2000:][:max_test], y[2000:][:max_test]
    data = load(problem)
    X, y = np.asarray(data.X, dtype=np.float64), data.y
    if problem in ("australian", "ionosphere"):
        fold = np.random.default_rng(0).permutation(len(y)) % 10
        return X[fold != part], y[fold != part], X[fold == part], y[fold == part]
    order = np.random.default_rng(part).permutation(len(y))
    if problem == "covtype":
        train = np.concatenate([order[y[order] == label][:PER_CLASS] for label in np.unique(y)])
        test = order[~np.isin(order, train)][:max_test]
        return X[train], y[train], X[test], y[test]
    if data.is_test is None:
        raise ValueError(f"{problem} has no predefined split; add it to split()")
    test = np.flatnonzero(data.is_test)
    test = test[np.random.default_rng(part).permutation(len(test))][:max_test]
    return X[~data.is_test], y[~data.is_test], X[test], y[test]


def exemplar_grid(n_records: int) -> list[int]:
    """Return the numbers of exemplars of a curve: a logarithmic grid to the last full ten, and some that are quoted."""
    last = n_records // 10 * 10
    grid = np.unique(np.round(np.logspace(0, np.log10(last), 48)).astype(int)).tolist()
    quoted = [10, 47, round(0.1 * last), round(0.18 * last), 2000, last]
    return sorted({n for n in [*grid, *quoted] if n <= last})


def measure_orders(problem: str, part: int, max_test: int | None, ordering: str, seed: int) -> dict[str, Any]:
    """Return the accuracy after each number of exemplars, on test records and by leave-one-out on training records."""
    X, y, X_test, y_test = split(problem, part, max_test)
    grid, setup = exemplar_grid(len(y)), len(np.unique(y))
    stages = sorted({max(0, n - setup) for n in grid})
    parameters = _PARAMETERS.get(problem, {}) | {"n_jobs": 1}
    profile: list[float] = []
    if ordering == "best of DROP1-3":
        curve = best_drop_curve(X, y, X_test, y_test, stages=stages, **parameters)
    else:
        model = AnytimeNeighborsClassifier(ordering=ordering, random_state=seed, calibrate=False, **parameters).fit(
            X, y
        )
        curve = anytime_curve(model, X_test, y_test, stages=stages)
        profile = [float(a) for a in model.leave_one_out_profile(stages).accuracy]
    return {
        "exemplars": [int(s) + setup for s in curve.stages],
        "accuracy": curve.accuracy.tolist(),
        "training": profile,
        "n_train": len(y),
        "classes": setup,
    }


def measure_ordering_time(problem: str, part: int, ordering: str) -> dict[str, float]:
    """Return the processor time of ordering the training records, in minutes."""
    X, y, _, _ = split(problem, part, 1)
    model = AnytimeNeighborsClassifier(ordering=ordering, calibrate=False, n_jobs=1, **_PARAMETERS.get(problem, {}))
    started = time.process_time()
    model.fit(X, y)
    return {"minutes": (time.process_time() - started) / 60.0, "n_train": float(len(y))}


def measure_preemption(problem: str, part: int, n_queries: int) -> dict[str, float]:
    """Return the share of queries that end the same when they are stored in between, and that of labels at budget 0."""
    X, y, queries, _ = split(problem, part, n_queries)
    parameters = _PARAMETERS.get(problem, {})
    model = AnytimeNeighborsClassifier(calibrate=False, n_jobs=1, **parameters).fit(X, y)
    rng = np.random.default_rng(part)
    same = 0
    for record in queries[:n_queries]:
        first, second = (int(n) for n in rng.integers(1, max(2, len(y) // 2), 2))
        stored = model.query(record)
        stored.refine(first)
        resumed = pickle.loads(pickle.dumps(stored))
        resumed.refine(second)
        whole = model.query(record)
        whole.refine(first + second)
        same += resumed.label == whole.label and np.array_equal(resumed.proba, whole.proba)
    at_once = model.classify(queries[:n_queries], budget=0)
    known = float(np.isin(at_once.labels, model.classes_).mean())
    return {"same": same / len(queries[:n_queries]), "labels_at_0": known, "setup": float(len(np.unique(y)))}
