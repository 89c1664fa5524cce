"""Models of every framework whose answers an imported ensemble must repeat, and records that are hard to repeat."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from anystream import AnytimeForestClassifier
from anystream.forest import import_model, read_ensemble
from anystream.forest.evaluation import score_records

N_FEATURES = 4
CATEGORY = 3  # the feature that holds categories in cases with categories


@dataclass(frozen=True)
class Case:
    """A model to be trained, and how its framework classifies.

    `fit` returns the model. `answer` returns its probabilities (or those of the second of two classes) and the numbers
    of the labels of records. `export` writes a file and returns its path; None where objects are imported.
    """

    framework: str
    name: str
    fit: Callable[[], Any]
    answer: Callable[[Any, np.ndarray], tuple[np.ndarray, np.ndarray]]
    single: bool = False  # the framework computes in float32
    category_values: tuple[float, ...] | None = None  # records may contain these only, and no NaN among them
    export: Callable[[Any, Any], list[Any]] | None = None

    @property
    def id(self):
        return f"{self.framework} {self.name}"


def installed(framework):
    try:
        return import_module({"scikit-learn": "sklearn"}.get(framework, framework)) is not None
    except ImportError:
        return False


def framework_version(framework):
    return import_module({"scikit-learn": "sklearn"}.get(framework, framework)).__version__


@cache
def data(n_classes=2, missing=False, categories=None, n_records=240, zeros=False, seed=0):
    """Return records on a coarse grid, so that values and thresholds coincide, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    records = rng.normal(size=(n_records, N_FEATURES)).round(1)
    records[:, 1] += 16777216  # float32 rounds these
    records[:, 2] = rng.normal(size=n_records) / 3
    if zeros:
        records[rng.random(records.shape) < 0.4] = 0
    if categories is not None:
        records[:, CATEGORY] = np.asarray(categories)[rng.integers(0, len(categories), n_records)]
    score = records[:, 0] + 3 * records[:, 2] + records[:, CATEGORY] % 3
    bounds = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    labels = np.digitize(score + rng.normal(size=n_records) / 4, bounds)
    labels[:n_classes] = np.arange(n_classes)
    if missing:
        records[rng.random(records.shape) < 0.15] = np.nan
    return records, labels


def hard_records(case, ensemble, seed=1):
    """Return records with values at thresholds and one rounding step beside them, NaN, zeros and odd categories."""
    rng = np.random.default_rng(seed)
    n_records = min(400, 400_000 // ensemble.n_trees)
    records = data(missing=ensemble.accepts_missing)[0]
    hard = records[rng.integers(0, len(records), n_records)].copy()
    numeric = np.flatnonzero((ensemble.feature >= 0) & (ensemble.category_set < 0) & np.isfinite(ensemble.threshold))
    for row in range(n_records if len(numeric) else 0):
        for node in rng.choice(numeric, 2):
            near = _values_near(ensemble.threshold[node])
            hard[row, ensemble.feature[node]] = near[rng.integers(len(near))]
    for feature in ensemble.categorical.tolist():
        known = ensemble.categories.get(feature, np.arange(90.0))
        odd = (max(known) + 1, 7000.0, -3.0, -0.5, 2.7, 1e10)
        values = case.category_values or (*known, *odd)
        hard[:, feature] = rng.choice(np.asarray(values, float), n_records)
    if ensemble.accepts_missing:
        hard[rng.random(hard.shape) < 0.1] = np.nan
    if case.category_values is not None:
        hard[np.isnan(hard[:, CATEGORY]), CATEGORY] = case.category_values[0]
    return hard


def _values_near(threshold):
    """Return the threshold, its neighbours in both precisions, and numbers around zero."""
    with np.errstate(over="ignore"):
        single = np.float32(threshold)
        below, above = (np.nextafter(single, np.float32(end)) for end in (-np.inf, np.inf))
    near = [threshold, np.nextafter(threshold, -np.inf), np.nextafter(threshold, np.inf), single, below, above]
    return [float(value) for value in near if np.isfinite(value)] + [0.0, -0.0, 1e-36, -1e-36, 1e5]


@cache
def fitted(case):
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return case.fit()


def import_all_ways(case, model, folder):
    """Yield the ensemble of the object and those of its files."""
    if case.framework != "catboost" or case.category_values is None:  # CatBoost's objects do not know categories
        yield import_model(model)
    for path in case.export(model, folder) if case.export else []:
        yield read_ensemble(path)


def numpy_answer(ensemble, records):
    """Return probabilities and class numbers of the trees, read with NumPy."""
    scores = score_records(ensemble, records)
    return ensemble.link.probabilities(scores), ensemble.link.labels(scores)


def native_answer(ensemble, records):
    """Return probabilities and class numbers of the native core, with as many steps as there are."""
    classifier = AnytimeForestClassifier.from_model(replace(ensemble, feature_names=None), n_jobs=1)
    answer = classifier.classify(records, budget=classifier.max_steps_)
    number = {label: k for k, label in enumerate(ensemble.classes.tolist())}
    return answer.proba, np.array([number[label] for label in answer.labels.tolist()])


def differences(case, model, ensemble, records, answer=numpy_answer):
    """Return the number of different labels, and the largest relative difference of probabilities."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        proba, labels = case.answer(model, records)
    found, found_labels = answer(ensemble, records)
    if answer is native_answer and ensemble.link.kind == "one_vs_all":
        proba = proba / proba.sum(axis=1, keepdims=True)  # a classifier of ours returns shares
    if proba.ndim == 1:
        found = found[:, 1]
    smallest = np.finfo(np.float32 if case.single else np.float64).tiny
    relative = np.abs(found - proba) / np.maximum(np.abs(proba), smallest)
    return int((found_labels != labels).sum()), float(relative.max())
