"""Invalid parameters are named before anything changes, and a failed fit is rolled back."""

import numpy as np
import pytest

from anystream.anytime.checks import three_clusters
from anystream.graph import KAOGClassifier, KAOGINCClassifier


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0; use a whole number from 1 on"),
        ({"max_vertices": 50}, "max_vertices is 50, less than batch_size"),
        ({"max_k": 1.5}, "max_k is 1.5"),
        ({"k_floors": ()}, "k_floors is"),
        ({"k_floors": (0, -1)}, "a number in k_floors is -1; use a number from 0 to 100"),
        ({"k_floors": 0.3}, "k_floors is 0.3"),
        ({"k_floors": {0.3}}, "k_floors is {0.3}"),
        ({"k_floors": [[0.3]]}, r"a number in k_floors is \[0.3\]"),
        ({"metric": "cosine"}, "metric is 'cosine'; use one of 'weighted', 'scaled', 'plain'"),
        ({"moments": 1}, "moments is 1; use one of True, False"),
        ({"isolated": "hide"}, "isolated is 'hide'"),
        ({"on_change": "panic"}, "on_change is 'panic'"),
        ({"missed_changes": None}, "missed_changes is None"),
        ({"pruning": "twice"}, "pruning is 'twice'; use one of None, 'repeated', 'once'"),
        ({"tau": 0}, "tau is 0"),
        ({"budget": -1}, "budget is -1"),
        ({"n_jobs": "two"}, "n_jobs is 'two'; use 1 or more threads, or None"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_invalid_parameters_of_a_stream_model_are_named(parameters, message):
    model = KAOGINCClassifier(**parameters)
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        model.partial_fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        model.learn_one({"a": 0.0}, 0)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_k": 0}, "max_k is 0; use a whole number from 1 on"),
        ({"isolated": "hide"}, "isolated is 'hide'"),
        ({"budget": -1}, "budget is -1"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_invalid_parameters_of_a_static_model_are_named(parameters, message):
    model = KAOGClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(model, "classes_")


def test_floors_may_be_a_list():
    X, y = three_clusters(200)
    as_list, as_tuple = (KAOGINCClassifier(k_floors=floors).fit(X, y) for floors in ([0, 0.5], (0, 0.5)))
    assert np.array_equal(as_list.predict_proba(X), as_tuple.predict_proba(X))


def test_parameters_that_change_between_calls_take_effect():
    X, y = three_clusters(400)
    model = KAOGINCClassifier(max_vertices=200).partial_fit(X[:200], y[:200])
    model.set_params(max_vertices=100).partial_fit(X[200:], y[200:])
    assert model.principal_.components.n_vertices <= 100


@pytest.mark.parametrize("make", [KAOGClassifier, KAOGINCClassifier])
def test_a_failed_fit_leaves_the_model_unchanged(make):
    X, y = three_clusters(200)
    model = make().fit(X, y)
    before, attributes = model.predict_proba(X), dict(vars(model))
    with pytest.raises(ValueError, match="infinity"):
        model.fit([[0.0, 1.0], [np.inf, 0.0]], [0, 1])
    assert vars(model) == attributes
    assert np.array_equal(model.predict_proba(X), before)
