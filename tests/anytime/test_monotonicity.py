"""Monotonicity of the anytime curves, mean of four folds of digits: more steps hardly ever cost accuracy."""

import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

from anystream import (
    AnytimeCurve,
    AnytimeForestClassifier,
    AnytimeNeighborsClassifier,
    BayesTreeClassifier,
    KAOGClassifier,
    LocustClassifier,
    MicroClusterClassifier,
    anytime_curve,
)

TREES = {"metric": None, "root_model": None, "n_jobs": 1}
CASES = {  # bounds on mon
    "ENS as printed": (lambda: BayesTreeClassifier.bt_star(n_jobs=1), 0.9985),
    "ENS, k = max(4, log2 m)": (lambda: BayesTreeClassifier.bt_star(refined_classes="auto", n_jobs=1), 0.999),
    "trees": (lambda: BayesTreeClassifier(**TREES), 0.999),
    "simple_rank": (lambda: AnytimeNeighborsClassifier(ordering="simple_rank", n_jobs=1), 0.999),
    "greedy": (lambda: AnytimeNeighborsClassifier(ordering="greedy", n_jobs=1), 0.999),
    "drop3": (lambda: AnytimeNeighborsClassifier(ordering="drop3", n_jobs=1), 0.999),
    "inverted": (lambda: AnytimeNeighborsClassifier(search="inverted", n_jobs=1), 0.999),
    "LOCUST": (lambda: LocustClassifier(n_jobs=1), 0.9975),
    "micro-clusters": (lambda: MicroClusterClassifier(n_jobs=1), 0.996),
    "KAOG": (lambda: KAOGClassifier(n_jobs=1), 0.999),
    "forest": (lambda: AnytimeForestClassifier(n_estimators=20, n_jobs=1), 0.998),
}


def mean_curve(make):
    X, y = load_digits(return_X_y=True)
    folds = StratifiedKFold(4, shuffle=True, random_state=1).split(X, y)
    curves = [
        anytime_curve(make().fit(X[train], y[train]), X[test], y[test], stages=range(201)) for train, test in folds
    ]
    return AnytimeCurve.mean(curves)


@pytest.mark.parametrize("case", CASES)
def test_the_monotonicity_is_at_least_its_bound(case):
    make, bound = CASES[case]
    assert mean_curve(make).mon >= bound


def test_the_mixture_of_the_baseline_falls():
    assert mean_curve(lambda: BayesTreeClassifier.bt_star(decision="mixture", n_jobs=1)).mon < 0.99
