"""Inputs whose work or memory would grow beyond bounds are errors that name the figure, or are quick."""

import tracemalloc

import numpy as np
import pytest

from anystream import AnytimeNeighborsClassifier, BayesTreeClassifier
from bayes_tree.plain import plain
from cpu_growth import cpu_growth


@pytest.mark.parametrize("metric", ["whiten", "quantile+whiten"])
def test_whitening_thousands_of_features_is_an_error(metric):
    X = np.random.default_rng(0).normal(size=(20, 5000))
    model = plain(metric=metric)
    with pytest.raises(ValueError, match=r"5000 x 5000 features \(0\.2 GB\).* at most 2048; use metric='diagonal'"):
        model.fit(X, np.arange(20) % 2)
    assert not hasattr(model, "classes_")


def test_whitening_a_few_hundred_features_still_works():
    X = np.random.default_rng(0).normal(size=(40, 300))
    assert plain(metric="whiten").fit(X, np.arange(40) % 2).metric_ is not None


def test_work_on_few_records_is_linear_in_their_columns():
    X = np.random.default_rng(0).normal(size=(6, 20_000))

    def fit(n_columns):
        model = BayesTreeClassifier().fit(X[:, :n_columns], [0, 1] * 3)
        assert model.predict(X[:, :n_columns]).tolist() == [0, 1] * 3

    assert cpu_growth(fit, 2_000, 20_000) < 40  # at most 10; 100 if pairs of columns were compared


def test_an_explicit_root_model_of_very_many_classes_is_an_error_before_anything_is_allocated():
    n = 100_000
    X = np.arange(4.0 * n).reshape(n, 4)
    tracemalloc.start()
    with pytest.raises(
        ValueError, match=r"root_model=0\.3 of 100000 classes and 4 features needs 3\.\d GB .* use root_model=None"
    ):
        plain(root_model=0.3).fit(X, np.arange(n))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_an_explicit_root_model_of_some_classes_is_trained():
    X = np.random.default_rng(0).normal(size=(600, 3)) + 5 * (np.arange(600) % 30)[:, None]
    assert plain(root_model=0.3).fit(X, np.arange(600) % 30).forest_.has_root_model


def test_the_greedy_ordering_of_very_many_classes_is_an_error():
    n = 50_000
    X = np.arange(2.0 * n).reshape(n, 2)
    with pytest.raises(ValueError, match=r"each of 50000 classes .* needs 10\.0 GB .* use ordering='simple_rank'"):
        AnytimeNeighborsClassifier(ordering="greedy").fit(X, np.arange(n))
