"""Trees that are trained without the checks of scikit-learn equal those of its `fit`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from anystream.drift import tree_training
from anystream.drift.tree_training import copy_unfitted_tree, train_tree

PARAMETERS = st.fixed_dictionaries(
    {"random_state": st.integers(0, 2**32 - 1)},
    optional={
        "criterion": st.sampled_from(["gini", "entropy", "log_loss"]),
        "max_depth": st.sampled_from([None, 1, 3]),
        "min_samples_leaf": st.sampled_from([1, 3, 0.1]),
        "min_samples_split": st.sampled_from([2, 7, 0.2]),
        "max_features": st.sampled_from([None, 2, "sqrt"]),
        "max_leaf_nodes": st.sampled_from([None, 4]),
        "class_weight": st.sampled_from([None, "balanced"]),
        "ccp_alpha": st.sampled_from([0.0, 0.02]),
        "splitter": st.sampled_from(["best", "random"]),
    },
)


def assert_same_tree(trained, fitted):
    assert_array_equal(trained.nodes, fitted.tree_.__getstate__()["nodes"])
    assert_array_equal(trained.value, fitted.tree_.value)
    assert_array_equal(trained.classes, fitted.classes_)


def draw_records(seed, n_classes, missing=0.0):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(60, 4)).round(1), 2 * random.integers(0, n_classes, 60).astype(np.int32)
    X[random.random(X.shape) < missing] = np.nan
    return X, y


def test_the_builder_of_the_installed_version_is_called_directly():
    assert tree_training._direct_equals_fit


@settings(max_examples=60)
@given(PARAMETERS, st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([0.0, 0.0, 0.1]))
def test_a_tree_equals_that_of_fit(parameters, seed, n_classes, missing):
    X, y = draw_records(seed, n_classes, missing)
    trained = train_tree(DecisionTreeClassifier(**parameters), X, y)
    assert_same_tree(trained, DecisionTreeClassifier(**parameters).fit(X, y))


def test_without_the_builder_fit_is_used(monkeypatch):
    X, y = draw_records(1, 3)
    monkeypatch.setattr(tree_training, "_direct_equals_fit", False)
    monkeypatch.setattr(tree_training, "_train_directly", None)
    assert_same_tree(
        train_tree(DecisionTreeClassifier(random_state=3), X, y), DecisionTreeClassifier(random_state=3).fit(X, y)
    )


@pytest.mark.parametrize("error", [AttributeError, TypeError])
def test_a_builder_with_another_interface_is_not_used(monkeypatch, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(tree_training, "_train_directly", fail)
    assert not tree_training._compare_with_fit()


@pytest.mark.parametrize(
    "parameters",
    [{"max_depth": -1}, {"criterion": "none"}, {"min_samples_leaf": 0}, {"random_state": -1}, {"min_samples_split": 1}],
    ids=str,
)
def test_invalid_parameters_are_reported_by_scikit_learn(parameters):
    X, y = draw_records(1, 3)
    with pytest.raises(ValueError, match=f"The {next(iter(parameters))!r} parameter of DecisionTreeClassifier must be"):
        train_tree(DecisionTreeClassifier(**parameters), X, y)


def test_values_that_single_precision_cannot_hold_are_reported_by_scikit_learn():
    X, y = draw_records(1, 3)
    X[0, 0] = 1e60
    with pytest.raises(ValueError, match="too large for dtype"):
        train_tree(DecisionTreeClassifier(random_state=0), X, y)


@given(PARAMETERS)
def test_a_copy_has_the_parameters_of_a_clone(parameters):
    estimator = DecisionTreeClassifier(**parameters)
    assert copy_unfitted_tree(estimator, 7).get_params() == clone(estimator).get_params()
    assert copy_unfitted_tree(DecisionTreeClassifier(), 7).random_state == 7
