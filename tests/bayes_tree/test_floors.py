"""Minimum accuracy on the papers' data sets, over four folds."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

from anystream import AnytimeCurve, BayesTreeClassifier, anytime_curve, load
from anystream.bayes_tree.recipe import CONSTRUCTIONS
from anystream.streams import load_dataset

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not (Path(os.environ.get("ANYSTREAM_DATA", "/nowhere")) / "uci_letter.npz").exists(),
        reason="the data sets are missing; set ANYSTREAM_DATA to their folder",
    ),
]


@pytest.mark.parametrize(
    ("name", "avg", "best"),
    [("letter", 0.94, 0.955), ("pendigits", 0.989, 0.991), ("optdigits", 0.97, 0.972), ("segment", 0.95, 0.96)],
)
def test_anytime_accuracy_reaches_its_floor(name, avg, best):
    data = load_dataset(name)
    curves = []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=1).split(data.X, data.y):
        test = np.random.default_rng(0).permutation(test)[:1500]
        model = BayesTreeClassifier().fit(data.X[train], data.y[train])
        curves.append(anytime_curve(model, data.X[test], data.y[test], budget=200))
    mean = AnytimeCurve.mean(curves)
    assert mean.avg >= avg, mean
    assert mean.max >= best, mean


EIGHT = ["letter", "pendigits", "vowel", "segment", "optdigits", "spambase", "kr_vs_kp", "page_blocks"]


def test_the_default_is_more_accurate_than_a_random_forest():
    leads = []
    for name in EIGHT:
        data = load_dataset(name)
        X, accuracy = np.asarray(data.X, dtype=np.float64), []
        for train, test in list(StratifiedKFold(4, shuffle=True, random_state=1).split(X, data.y))[:2]:
            models = BayesTreeClassifier(), RandomForestClassifier(100, random_state=0)
            accuracy.append([model.fit(X[train], data.y[train]).score(X[test], data.y[test]) for model in models])
        ours, theirs = np.mean(accuracy, axis=0)
        leads.append(ours - theirs)
    assert sum(lead > 0 for lead in leads) >= 5, dict(zip(EIGHT, leads, strict=True))
    assert min(leads) > -0.01, dict(zip(EIGHT, leads, strict=True))


CHANGES = [{}, *({"construction": name, "metric": None, "root_model": None} for name in CONSTRUCTIONS)]


@pytest.mark.parametrize("changes", CHANGES, ids=lambda changes: changes.get("construction", "default"))
def test_learning_half_of_the_data_later_costs_less_than_a_point(changes, tmp_path):
    data = load_dataset("letter").shuffled(seed=1)
    X, y = np.asarray(data.X), data.y
    queries, labels, X, y = X[:2000], y[:2000], X[2000:], y[2000:]
    half = len(X) // 2
    whole = BayesTreeClassifier(**changes).fit(X, y)
    BayesTreeClassifier(**changes).fit(X[:half], y[:half]).save(tmp_path / "half.safetensors")
    later = load(tmp_path / "half.safetensors").partial_fit(X[half:], y[half:])
    whole_curve, later_curve = (anytime_curve(model, queries, labels, budget=200) for model in (whole, later))
    assert later_curve.avg >= whole_curve.avg - 0.01
    assert later_curve.max >= whole_curve.max - 0.01
