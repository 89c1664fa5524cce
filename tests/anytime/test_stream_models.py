"""Every classifier over a stream model keeps scikit-learn's contract, river's and ours."""

import pytest
import river.checks
import river.datasets
import river.evaluate
import river.metrics
from sklearn.utils.estimator_checks import parametrize_with_checks

from anystream.anytime.checks import yield_anytime_checks
from anystream.microclusters import MicroClusterClassifier
from anystream.subspace import BlockLocustClassifier, LocustClassifier

CLASSIFIERS = [
    LocustClassifier(),
    LocustClassifier(confidence=0.9, label_delay=0),
    LocustClassifier.paper(),
    BlockLocustClassifier(block_size=60, bias=4.0, votes="gamma", dominant="lift"),
    MicroClusterClassifier(),
    MicroClusterClassifier(n_clusters=20, snapshot_every=10, choose_every=30, hold_back=3),
]


@parametrize_with_checks(CLASSIFIERS)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "check", [c for e in CLASSIFIERS for c in yield_anytime_checks(e)], ids=lambda c: c.func.__name__
)
def test_it_keeps_the_anytime_contract(check):
    check()


def river_checks():
    for number, estimator in enumerate(CLASSIFIERS):
        model = estimator.clone()
        for check in river.checks.yield_checks(model):
            if check.__name__ not in model._unit_test_skips():
                yield pytest.param(estimator, check, id=f"{number}-{check.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(river_checks()))
def test_river_accepts_it(estimator, check):
    check(estimator.clone())


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=range(len(CLASSIFIERS)))
def test_it_learns_a_river_stream(estimator):
    metric = river.evaluate.progressive_val_score(
        river.datasets.Phishing(), estimator.clone(), river.metrics.Accuracy()
    )
    assert metric.get() > 0.75


@pytest.mark.parametrize("n_jobs", ["two", 0, -2, 1.5])
def test_a_number_of_threads_that_makes_no_sense_is_refused(n_jobs):
    with pytest.raises(ValueError, match="use 1 or more threads, or None or -1 for all cores"):
        LocustClassifier(n_jobs=n_jobs).fit([[0.0], [1.0]], [0, 1])
