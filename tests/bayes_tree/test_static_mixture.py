"""Static mixtures: one mixture per class without a tree, trained by margin maximisation."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from anystream.bayes_tree import StaticMixtureClassifier


def test_margin_maximisation_improves_a_static_mixture():
    X, y = load_digits(return_X_y=True)
    generative = StaticMixtureClassifier(components=7, margin=False).fit(X[::2], y[::2])
    trained = StaticMixtureClassifier(components=7).fit(X[::2], y[::2])
    assert trained.objective_[-1] > trained.objective_[0]
    assert trained.score(X[1::2], y[1::2]) > generative.score(X[1::2], y[1::2])
    assert trained.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)))


def test_a_static_mixture_of_one_component_is_gaussian_naive_bayes():
    X, y = load_iris(return_X_y=True)
    model = StaticMixtureClassifier(components=1, margin=False).fit(X, y)
    order = np.argsort(model.component_class_)
    means = np.array([X[y == c].mean(axis=0) for c in range(3)])
    variances = np.array([X[y == c].var(axis=0) for c in range(3)])
    np.testing.assert_allclose(model.means_[order], means, rtol=1e-9)
    np.testing.assert_allclose(model.variances_[order], variances, rtol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"components": 0}, "components is 0; use a whole number from 1 on"),
        ({"kappa": 0.5}, "kappa is 0.5; use a number from 1 on"),
        ({"lambda_": 0.0}, "lambda_ is 0.0; use a number above 0"),
        ({"iterations": 2.5}, "iterations is 2.5; use a whole number from 0 on"),
        ({"n_jobs": 0}, "n_jobs is 0; use 1 or more threads"),
    ],
)
def test_invalid_parameters_are_named(parameters, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        StaticMixtureClassifier(**parameters).fit(X, y)
