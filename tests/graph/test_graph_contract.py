"""Both classifiers keep scikit-learn's contract, ours, and the incremental one river's."""

import pytest
import river.checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from anystream.anytime.checks import yield_anytime_checks
from anystream.graph import KAOGClassifier, KAOGINCClassifier

INCREMENTAL = [KAOGINCClassifier(), KAOGINCClassifier.paper()]
CLASSIFIERS = [KAOGClassifier(), *INCREMENTAL]


@parametrize_with_checks(CLASSIFIERS)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "check", [c for e in CLASSIFIERS for c in yield_anytime_checks(e)], ids=lambda c: c.func.__name__
)
def test_it_keeps_the_anytime_contract(check):
    check()


def river_checks():
    for estimator in INCREMENTAL:
        for check in river.checks.yield_checks(estimator.clone()):
            if check.__name__ not in estimator._unit_test_skips():
                yield pytest.param(estimator, check, id=check.__name__)


@pytest.mark.parametrize(("estimator", "check"), list(river_checks()))
def test_river_accepts_it(estimator, check):
    check(estimator.clone())
