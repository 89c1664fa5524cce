"""Any scikit-learn classifier can be a member of an ensemble."""

import numpy as np
import pytest
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from anystream.drift import WCEA, DynamicWeightedMajority, GaussianNaiveBayes, ResetOnDrift, SEAEnsemble
from anystream.streams import SEA


@pytest.mark.parametrize(
    "member",
    [GaussianNB(), make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4)), Perceptron()],
    ids=["naive-bayes", "pipeline", "without-probabilities"],
)
@pytest.mark.parametrize("ensemble", [WCEA, SEAEnsemble])
def test_any_classifier_can_be_a_member_of_a_chunk_ensemble(ensemble, member):
    X, y = SEA(concepts=(8,), seed=3).take(800)
    words = np.array(["below", "above"])[y]
    model = ensemble(member, chunk_size=100).fit(X[:600], words[:600])
    assert model.score(X[600:], words[600:]) > 0.85
    assert not model.__sklearn_tags__().input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((1, 3), np.nan), ["below"])


@pytest.mark.parametrize("ensemble", [WCEA, SEAEnsemble, DynamicWeightedMajority, ResetOnDrift])
def test_members_that_need_two_classes_accept_records_of_one_class(ensemble):
    X, y = np.random.default_rng(0).normal(size=(400, 2)), np.repeat([0, 1, 0, 1], 100)
    X[:, 0] += 6 * y
    chunks = {"chunk_size": 50, "train_within": 0} if ensemble in (WCEA, SEAEnsemble) else {}
    model = ensemble(Perceptron(), **chunks).fit(X, y)
    assert model.predict_proba(X).shape == (400, 2)
    late = ensemble(Perceptron(), **chunks).partial_fit(X[:100], y[:100])
    assert late.partial_fit(X[100:], y[100:]).predict(X[100:200]).mean() > 0.9


@pytest.mark.parametrize("estimator", ["a text", GaussianNB, object()], ids=["text", "class", "object"])
@pytest.mark.parametrize("ensemble", [WCEA, SEAEnsemble, DynamicWeightedMajority, ResetOnDrift])
def test_an_estimator_of_another_type_is_rejected(ensemble, estimator):
    with pytest.raises(TypeError, match="is not a scikit-learn estimator; pass a classifier"):
        ensemble(estimator).fit([[0.0], [1.0]], [0, 1])


class CautiousNaiveBayes(GaussianNaiveBayes):
    """Naive Bayes that is never sure."""

    def records_proba(self, records):
        proba = super().records_proba(records)
        return (proba + 1) / (proba + 1).sum(axis=1, keepdims=True)


def test_a_subclass_of_naive_bayes_keeps_its_own_methods_as_a_member():
    X, y = SEA(seed=1).take(100)
    model = WCEA(CautiousNaiveBayes(), chunk_size=50).fit(X, y)
    assert model.predict_proba(X).max() <= 2 / 3
