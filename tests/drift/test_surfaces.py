"""Every classifier of the room keeps scikit-learn's contract, river's and ours."""

import pytest
import river.checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from anystream.anytime.checks import yield_anytime_checks
from anystream.bayes_tree import BayesTreeClassifier
from anystream.drift import WCEA, DynamicWeightedMajority, GaussianNaiveBayes, OnlineTree2, ResetOnDrift, SEAEnsemble

ALL = [
    GaussianNaiveBayes(),
    SEAEnsemble(),
    DynamicWeightedMajority(),
    WCEA(),
    WCEA(BayesTreeClassifier(n_jobs=1), chunk_size=40, folds=2),
    OnlineTree2(),
    ResetOnDrift(detector="PageHinkley"),
]


@parametrize_with_checks(ALL)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def river_checks():
    for estimator in ALL:
        model = estimator.clone()
        for check in river.checks.yield_checks(model):
            if check.__name__ not in model._unit_test_skips():
                yield pytest.param(estimator, check, id=f"{ALL.index(estimator)}-{check.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(river_checks()))
def test_river_accepts_it(estimator, check):
    check(estimator.clone())


@pytest.mark.parametrize(
    "check",
    [check for estimator in ALL for check in yield_anytime_checks(estimator)],
    ids=lambda check: check.func.__name__,
)
def test_it_keeps_the_anytime_contract(check):
    check()
