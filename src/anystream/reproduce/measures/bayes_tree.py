"""Measurements of the two papers on Bayes trees: anytime curves, static mixtures, scalability, variances per level."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anystream.anytime.curve import anytime_curve
from anystream.bayes_tree import BayesTreeClassifier, StaticMixtureClassifier
from anystream.models import load as load_model
from anystream.reproduce.data import fold

STEPS = 200
"""Refinements of the papers' curves; r."""


def make_tree(model: str, changes: dict[str, Any]) -> BayesTreeClassifier:
    """Return an unfitted classifier: ``"published"`` is BT* as printed with changes, ``"default"`` ours."""
    if model == "published":
        return BayesTreeClassifier.bt_star(n_jobs=1, **changes)
    return BayesTreeClassifier(n_jobs=1, **changes)


def measure_curve(
    data: str,
    n_folds: int,
    number: int,
    max_train: int | None,
    max_test: int | None,
    model: str,
    changes: dict[str, Any],
) -> dict[str, Any]:
    """Return the accuracy after 0 to 200 refinements on one fold, and the variance of the entries per level."""
    X, y, queries, labels = fold(data, n_folds, number, max_train, max_test)
    fitted = make_tree(model, changes).fit(X, y)
    curve = anytime_curve(fitted, queries, labels, stages=range(STEPS + 1))
    levels = fitted.tree_.describe().levels
    return {
        "accuracy": curve.accuracy.tolist(),
        "n_records": curve.n_records,
        "variances": [float(level.variance) for level in levels],
    }


def measure_all_refinements(
    data: str, n_folds: int, number: int, max_train: int | None, max_test: int | None
) -> dict[str, Any]:
    """Return the accuracy of BT* from the first refinement to the last one that there is."""
    X, y, queries, labels = fold(data, n_folds, number, max_train, max_test)
    fitted = BayesTreeClassifier.bt_star(n_jobs=1).fit(X, y)
    last = max(int(fitted.tree_.describe().nodes), STEPS + 1)  # no query can take more steps than there are nodes
    grid = np.unique(np.round(np.logspace(0, np.log10(last), 60)).astype(int))
    stages = sorted({0, STEPS, last, *grid.tolist()})
    curve = anytime_curve(fitted, queries, labels, stages=stages)
    return {"stages": [int(s) for s in curve.stages], "accuracy": curve.accuracy.tolist()}


def measure_static_mixture(
    data: str, n_folds: int, number: int, max_train: int | None, max_test: int | None, components: int
) -> dict[str, float]:
    """Return the accuracy of static mixtures before and after margin maximisation."""
    X, y, queries, labels = fold(data, n_folds, number, max_train, max_test)
    found = {}
    for name, margin in (("em", False), ("mm", True)):
        model = StaticMixtureClassifier(components=components, margin=margin, n_jobs=1).fit(X, y)
        found[name] = float((model.predict(queries) == labels).mean())
    return found


def measure_partial_em(
    data: str, n_folds: int, number: int, max_train: int | None, max_test: int | None, share: float, rest: str
) -> dict[str, float]:
    """Return avg and final accuracy of BT* if EM has only a share of the records.

    The rest of them is ``"learned"`` record by record, or EM splits by ``"samples"`` of that share of a class, or all
    records are used for ``"all"``.
    """
    X, y, queries, labels = fold(data, n_folds, number, max_train, max_test)
    changes: dict[str, Any] = {}
    if rest == "samples":
        per_class = len(y) / len(np.unique(y))
        changes = {"construction_options": {"sample": max(14, round(share * per_class))}}
    model = BayesTreeClassifier.bt_star(n_jobs=1, **changes)
    if rest == "learned":
        order = np.random.default_rng(number).permutation(len(y))
        first = order[: max(round(share * len(y)), 1)]
        model.fit(X[first], y[first])
        later = order[len(first) :]
        model.partial_fit(X[later], y[later])
    else:
        model.fit(X, y)
    curve = anytime_curve(model, queries, labels, stages=range(STEPS + 1))
    return {"avg": curve.avg, "last": float(curve.accuracy[-1])}


def measure_step_time(
    data: str, n_folds: int, number: int, max_train: int | None, max_test: int | None, steps: Sequence[int]
) -> dict[str, Any]:
    """Return processor time per refinement in microseconds, between each two of `steps`; the minimum of five runs."""
    X, y, queries, _ = fold(data, n_folds, number, max_train, max_test)
    fitted = BayesTreeClassifier.bt_star(n_jobs=1).fit(X, y)
    seconds, taken = [], []
    for budget in steps:
        runs = []
        for _ in range(5):
            started = time.process_time()
            answer = fitted.classify(queries, budget=int(budget))
            runs.append(time.process_time() - started)
        seconds.append(min(runs))
        taken.append(int(answer.steps.sum()))
    gaps = (1e6 * np.maximum(np.diff(seconds), 0.0) / np.maximum(np.diff(taken), 1)).tolist()
    return {"us": gaps, "steps": list(map(int, steps)), "features": int(X.shape[1])}


def measure_storage(
    data: str, n_folds: int, number: int, max_train: int | None, max_test: int | None
) -> dict[str, float]:
    """Return the share of equal labels of a model in memory and one mapped from disk, and the memory of both."""
    X, y, queries, _ = fold(data, n_folds, number, max_train, max_test)
    fitted = BayesTreeClassifier.bt_star(n_jobs=1).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        fitted.save(path)
        mapped = load_model(path, mmap=True)
        same = float((mapped.predict(queries) == fitted.predict(queries)).mean())
        held = float(mapped.memory_bytes_)
        del mapped
        return {"same": same, "held_bytes": held, "all_bytes": float(fitted.memory_bytes_)}
