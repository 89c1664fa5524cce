"""Batches with a deadline and all steps read the trees of a boosted model together, not in an order of each record."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier

from anystream import AnytimeForestClassifier, Budget, StopToken

LATER = Budget(seconds=3600)


@pytest.fixture(scope="module")
def models():
    """One boosted model in both orders, and records."""
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=900)
    X = rng.normal(size=(900, 4)) + y[:, None]
    boosted = HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=8).fit(X[:500], y[:500])
    orders = ("contenders", "training")
    return [AnytimeForestClassifier.from_model(boosted, order=order, n_jobs=1) for order in orders], X[500:]


def test_a_batch_with_a_deadline_and_all_steps_reads_the_trees_in_the_order_of_training(models):
    (contenders, training), X = models
    found, expected = contenders.classify(X, budget=LATER), training.classify(X, budget=LATER)
    assert_array_equal(found.proba, expected.proba)
    assert_array_equal(found.steps, expected.steps)
    assert found.certified.all()
    assert_array_equal(found.labels, contenders.classify(X, budget=Budget()).labels)


def test_a_limit_in_steps_and_few_records_keep_the_order_of_each_record(models):
    (contenders, _), X = models
    for steps in (5, 50, contenders.max_steps_ - 1):
        timed = contenders.classify(X, budget=Budget(steps=steps, seconds=3600))
        plain = contenders.classify(X, budget=steps)
        assert_array_equal(timed.proba, plain.proba)
        assert_array_equal(timed.steps, plain.steps)
    few = contenders.classify(X[:4], budget=LATER)
    assert_array_equal(few.steps, contenders.classify(X[:4], budget=contenders.max_steps_ - 1).steps)


def test_a_lead_that_was_measured_in_the_order_of_each_record_keeps_that_order(models):
    (contenders, _), X = models
    early = AnytimeForestClassifier.from_model(contenders.ensemble_, confidence=0.9, n_jobs=1).calibrate_on(X[:200])
    timed = early.classify(X[200:], budget=LATER)
    assert timed.confident.any()
    assert_array_equal(timed.steps, early.classify(X[200:], budget=early.max_steps_).steps)


def test_a_set_stop_token_ends_a_batch_that_reads_trees_together(models):
    (contenders, _), X = models
    stop = StopToken()
    stop.set()
    answer = contenders.classify(X, budget=Budget(stop=stop))
    assert answer.steps.sum() < len(X)
    assert_array_equal(answer.proba.sum(axis=1).round(9), 1.0)
