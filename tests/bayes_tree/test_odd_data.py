"""Data that break naive density estimates: equal records, constant features, huge values, missing values."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from anystream import BayesTreeClassifier, Budget
from bayes_tree.blobs import blobs


@pytest.mark.parametrize("n", [1, 2, 7, 8, 50])
def test_identical_records_of_two_classes_are_equally_probable(n):
    X, y = np.ones((2 * n, 3)), np.repeat([0, 1], n)
    model = BayesTreeClassifier().fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[1, 1, 1]], budget=Budget()), [[0.5, 0.5]], rtol=1e-5)
    model.partial_fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[1, 1, 1]], budget=Budget()), [[0.5, 0.5]], rtol=1e-5)


def test_a_feature_that_is_constant_in_training_hardly_changes_labels():
    X, y = blobs()
    padded = np.column_stack([X, np.full(len(X), 0.1)])
    queries = np.column_stack([X, np.random.default_rng(0).normal(size=len(X))])
    expected = BayesTreeClassifier().fit(X, y).predict(X)
    assert (BayesTreeClassifier().fit(padded, y).predict(queries) == expected).mean() > 0.98


def test_a_duplicate_column_leaves_the_accuracy_high():
    X, y = blobs()
    assert BayesTreeClassifier().fit(X[:, [0, 0, 1, 2, 3]], y).score(X[:, [0, 0, 1, 2, 3]], y) > 0.9


def test_huge_and_tiny_values_only_change_the_scale():
    X, y = blobs()
    expected = BayesTreeClassifier().fit(X, y).predict(X)
    for factor in (1e30, 1e-30):
        assert np.array_equal(BayesTreeClassifier().fit(X * factor, y).predict(X * factor), expected)
    shifted = BayesTreeClassifier().fit(X + 1e9, y).predict(X + 1e9)
    assert (shifted == expected).mean() > 0.99


def test_one_outlier_of_1e30_leaves_probabilities_finite():
    X, y = blobs()
    X[0, 0] = 1e30
    model = BayesTreeClassifier().fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    model.partial_fit([[1e90, 0, 0, 0]], [1])
    assert np.isfinite(model.predict_proba(X)).all()


def test_missing_values_in_training_cost_little_accuracy():
    X, y = load_iris(return_X_y=True)
    random = np.random.default_rng(0)
    holes = np.where(random.random(X.shape) < 0.15, np.nan, X)
    model = BayesTreeClassifier().fit(holes[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.88
    assert model.score(holes[1::2], y[1::2]) > 0.8
    model.partial_fit(holes[1::2], y[1::2])
    assert np.isfinite(model.predict_proba(holes)).all()


def test_a_feature_may_be_missing_everywhere():
    X, y = blobs()
    X[:, 1] = np.nan
    assert BayesTreeClassifier().fit(X, y).score(X, y) > 0.7
