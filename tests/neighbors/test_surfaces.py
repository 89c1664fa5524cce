"""The classifier keeps scikit-learn's contract, river's and ours, in each of its forms."""

import pytest
import river.checks
import river.datasets
import river.evaluate
import river.metrics
import river.preprocessing
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from anystream.anytime.checks import yield_anytime_checks
from anystream.neighbors import AnytimeNeighborsClassifier

CLASSIFIERS = [
    AnytimeNeighborsClassifier(),
    AnytimeNeighborsClassifier(search="inverted", ordering="greedy"),
]
KEEPERS = [
    *CLASSIFIERS,
    AnytimeNeighborsClassifier(k=3, ordering="random", metric="manhattan"),
    AnytimeNeighborsClassifier(search="inverted", k=4),
    AnytimeNeighborsClassifier(window=40),
    AnytimeNeighborsClassifier(search="inverted", window=40),
    AnytimeNeighborsClassifier(trim="auto", ordering="simple_rank"),
    AnytimeNeighborsClassifier(metric="cosine", ordering="drop3"),
    AnytimeNeighborsClassifier(metric="chebyshev", search="inverted"),
]


@parametrize_with_checks(CLASSIFIERS)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def contract_checks():
    for number, estimator in enumerate(KEEPERS):
        for check in yield_anytime_checks(estimator):
            yield pytest.param(estimator, check.func, id=f"{number}-{check.func.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(contract_checks()))
def test_it_keeps_the_anytime_contract(estimator, check):
    check(clone(estimator))


def river_checks():
    for number, estimator in enumerate(CLASSIFIERS):
        model = estimator.clone()
        for check in river.checks.yield_checks(model):
            if check.__name__ not in model._unit_test_skips():
                yield pytest.param(estimator, check, id=f"{number}-{check.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(river_checks()))
def test_river_accepts_it(estimator, check):
    check(estimator.clone())


def test_it_works_in_river_pipelines():
    model = river.preprocessing.StandardScaler() | AnytimeNeighborsClassifier(window=500)
    metric = river.evaluate.progressive_val_score(river.datasets.Phishing(), model, river.metrics.Accuracy())
    assert metric.get() > 0.8
