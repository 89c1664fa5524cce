"""Invalid parameters and data raise errors that name them, and leave the model unchanged."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from anystream import BayesTreeClassifier
from bayes_tree.blobs import blobs
from bayes_tree.plain import plain


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"fanout": 2}, "fanout is 2; use 3 to 64"),
        ({"fanout": 7.5}, "fanout is 7.5; use a whole number"),
        ({"bandwidth": "silverman"}, "bandwidth is 'silverman'; use 'auto', 'langley', 'haerdle' or 'f'"),
        ({"bandwidth": "f0"}, "bandwidth is 'f0'"),
        ({"inner_variance": "min"}, "inner_variance is 'min'; use one of 'max', 'plain'"),
        ({"construction": "magic"}, "construction is 'magic'; use one of 'em_top_down', 'goldberger'"),
        ({"decision": "vote"}, "decision is 'vote'; use one of 'auto', 'ensemble', 'mixture', 'nearest'"),
        ({"descent": "random"}, "descent is 'random'; use one of 'global_best', 'breadth_first', 'depth_first'"),
        ({"refined_classes": 0}, "refined_classes is 0; use a whole number from 1 on"),
        ({"refined_classes": [2]}, r"refined_classes is \[2\]; use a whole number from 1 on"),
        ({"refine_for": "speed"}, "refine_for is 'speed'; use one of 'accuracy', 'certificate'"),
        ({"covariance": "round"}, "covariance is 'round'; use 'auto', 'full', 'diagonal' or the size of a block"),
        ({"covariance": 0}, "covariance is 0; use a whole number from 1 on"),
        ({"covariance_levels": -1}, "covariance_levels is -1; use a whole number from 0 on"),
        ({"margin_levels": -1}, "margin_levels is -1; use a whole number from 0 on"),
        ({"margin_kappa": 0.5}, "margin_kappa is 0.5; use a number from 1 on"),
        ({"margin_lambda": 0.0}, "margin_lambda is 0.0; use a number above 0"),
        ({"root_model": "yes"}, "root_model is 'yes'; use a number from 0 on"),
        ({"root_model": -1.0}, "root_model is -1.0; use a number from 0 on"),
        ({"metric": "euclid"}, "metric is 'euclid'; use None, 'auto', one of"),
        ({"metric": "diagonal+whiten"}, "metric is 'diagonal\\+whiten'; use None, 'auto', one of"),
        ({"metric": "diagonal+quantile"}, "metric is 'diagonal\\+quantile'; put 'quantile' first"),
        ({"metric": "whiten+whiten"}, "metric is 'whiten\\+whiten'; use None, 'auto', one of"),
        ({"metric": 3}, "metric is 3; use None, 'auto', one of"),
        ({"budget": -5}, "budget is -5; use a whole number from 0 on"),
        ({"random_state": "x"}, "random_state is 'x'; use a whole number"),
        ({"n_jobs": 1.5}, "n_jobs is 1.5"),
    ],
)
def test_invalid_parameters_are_named_before_anything_is_learned(parameters, message):
    X, y = blobs(20)
    model = BayesTreeClassifier(**parameters)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            learn(X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("bad_X", "bad_y", "message"),
    [
        ([[1.0, 2.0]], [0], "features"),
        ([[1.0, 2.0, 3.0, np.inf]], [0], "infinity"),
        ([[1.0, 2.0, 3.0, 1e200]], [0], "beyond 1e\\+100"),
        ([["a", "b", "c", "d"]], [0], "could not convert"),
        ([[1.0, 2.0, 3.0, 4.0]], [0, 1], "inconsistent numbers"),
        ([[1.0, 2.0, 3.0, 4.0]], [0.5], "Unknown label type"),
    ],
)
def test_invalid_training_data_leave_the_model_unchanged(bad_X, bad_y, message):
    X, y = blobs()
    model = BayesTreeClassifier().fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(bad_X, bad_y)
    assert pickle.dumps(model) == before


def test_invalid_named_records_leave_the_model_unchanged():
    model = BayesTreeClassifier()
    model.learn_one({"a": 1.0}, "x")
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="feature 'a' is 'red'; features are numbers"):
        model.learn_one({"a": "red"}, "x")
    with pytest.raises(ValueError, match="infinite value"):
        model.learn_one({"a": float("inf"), "new": 1.0}, "x")
    assert pickle.dumps(model) == before


def test_an_unfitted_model_raises_in_scikit_learns_api_and_returns_nothing_in_rivers():
    with pytest.raises(NotFittedError):
        BayesTreeClassifier().predict([[1.0]])
    with pytest.raises(NotFittedError):
        BayesTreeClassifier().query([1.0])
    with pytest.raises(NotFittedError):
        _ = BayesTreeClassifier().tree_
    assert BayesTreeClassifier().predict_one({"a": 1.0}) is None
    assert BayesTreeClassifier().predict_proba_one({"a": 1.0}) == {}


def test_a_query_takes_one_record_of_the_right_width():
    X, y = blobs()
    model = BayesTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="records have 2 features, fit saw 4; pass the same columns"):
        model.query([1.0, 2.0])
    with pytest.raises(ValueError, match="one record, this has the shape"):
        model.query(X)
    with pytest.raises(TypeError, match="either a record or the state"):
        model.query()
    with pytest.raises(TypeError, match="state is a str"):
        model.query(state="abc")


def test_an_interrupted_fit_leaves_the_model_unchanged(monkeypatch):
    X, y = load_digits(return_X_y=True)
    model = plain().fit(X[:300], y[:300])
    before = model.predict_proba(X)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("anystream.bayes_tree.classifier.choose", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :5], y)
    assert np.array_equal(model.predict_proba(X), before)


def test_a_given_metric_needs_fit():
    with pytest.raises(ValueError, match="metric='whiten' is learned by fit; call fit before partial_fit"):
        BayesTreeClassifier(metric="whiten").partial_fit([[0.0, 1.0]], [0])
