"""Dynamic weighted majority equals its definition, and its experts are replaced and bounded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from anystream.drift import DynamicWeightedMajority, GaussianNaiveBayes
from anystream.drift.ensemble_members import new_member
from anystream.streams import RandomRBF
from reference.drift_ensembles import SlowDynamicWeightedMajority


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, 10]), st.sampled_from([0.5, 0.8]))
def test_learning_all_records_between_two_tests_at_once_equals_learning_record_by_record(seed, period, beta):
    stream = RandomRBF(concepts=(seed, seed + 1), drifts=(60,), n_classes=3, seed=seed)
    X, y = stream.take(150)
    model = DynamicWeightedMajority(period=period, beta=beta, theta=0.05, max_experts=1000)
    twin = SlowDynamicWeightedMajority(
        lambda: new_member(GaussianNaiveBayes(), 0), 3, beta=beta, theta=0.05, period=period
    )
    model.partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    twin.learn(X[0], y[0])
    model.partial_fit(X[1:100], y[1:100])
    for x, label in zip(X[1:100], y[1:100], strict=True):
        twin.learn(x, label)
    assert_allclose(model.weights_, twin.weights)
    votes = np.array([twin.votes(x) for x in X[100:]])
    assert_allclose(model.predict_proba(X[100:]), votes / votes.sum(axis=1, keepdims=True))


@pytest.mark.filterwarnings("ignore:divide by zero")  # scikit-learn's, for the prior of a class without records
def test_experts_that_cannot_learn_a_new_class_are_replaced():
    X, y = RandomRBF(n_classes=3, seed=3, n_centers=6).take(900)
    known = y < 2
    model = DynamicWeightedMajority(GaussianNB(var_smoothing=1e-2)).partial_fit(X[known][:200], y[known][:200])
    assert model.predict_proba(X).shape == (900, 2)
    model.partial_fit(X, y)
    assert 2 in model.predict(X)


def test_an_estimator_without_partial_fit_is_rejected():
    with pytest.raises(TypeError, match="DecisionTreeClassifier, which has no partial_fit; use a classifier that has"):
        DynamicWeightedMajority(DecisionTreeClassifier()).fit([[0.0], [1.0]], [0, 1])


def test_the_number_of_experts_is_bounded():
    X, y = np.random.default_rng(0).random((400, 2)), np.random.default_rng(1).integers(0, 2, 400)
    model = DynamicWeightedMajority(theta=0.0, period=1, max_experts=7).fit(X, y)
    assert len(model.experts_) == 7
