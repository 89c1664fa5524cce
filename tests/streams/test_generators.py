"""The labelling rule and the distribution of each generator; random RBF has its own file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.streams import SEA, JapaneseFlag, MovingGaussians, Sine
from streams.drawn_streams import N, segments, streams


@given(stream=streams(noise=st.just(0.0), generators=(SEA, Sine, JapaneseFlag)))
def test_labels_follow_the_rule_exactly(stream):
    rules = {
        SEA: lambda X, theta: ~(X[:, 0] + X[:, 1] <= theta),
        JapaneseFlag: lambda X, radius: np.hypot(X[:, 0] - 0.5, X[:, 1] - 0.5) < radius,
        Sine: lambda X, concept: (
            {
                "sine1": X[:, 1] < np.sin(X[:, 0]),
                "sine2": X[:, 1] < 0.5 + 0.3 * np.sin(3 * np.pi * X[:, 0]),
            }[concept.removesuffix("_reversed")]
            ^ concept.endswith("_reversed")
        ),
    }
    X, y = stream.take(N)
    for concept, first, last in segments(stream):
        assert np.array_equal(rules[type(stream)](X[first:last], concept), y[first:last])


@pytest.mark.parametrize(("stream", "top"), [(SEA(), 10.0), (Sine(), 1.0), (JapaneseFlag(), 1.0)])
def test_features_are_uniform(stream, top):
    X, _ = stream.take(50_000)
    assert X.min() >= 0.0
    assert X.max() < top
    for column in X.T:
        counts, _ = np.histogram(column, bins=10, range=(0.0, top))
        assert abs(counts - 5000).max() < 6 * np.sqrt(5000 * 0.9)


def test_gaussians_have_the_means_and_deviations_of_the_paper():
    X, y = MovingGaussians(seed=9).take(200_000)
    narrow, wide = X[y == 1], X[y == 0]
    assert abs(y.mean() - 0.5) < 0.01
    assert np.abs(narrow.mean(axis=0)).max() < 0.02
    assert np.abs(wide.mean(axis=0) - [2.0, 0.0]).max() < 0.06
    assert np.abs(np.cov(narrow.T) - np.eye(2)).max() < 0.03
    assert np.abs(np.cov(wide.T) - 16 * np.eye(2)).max() < 0.4


def test_the_bayes_rule_of_the_gaussians_has_an_error_of_a_tenth():
    X, y = MovingGaussians(seed=10).take(200_000)
    log_narrow = -0.5 * (X**2).sum(axis=1)
    log_wide = -0.5 * (((X - [2.0, 0.0]) / 4.0) ** 2).sum(axis=1) - 2 * np.log(4.0)
    assert abs(((log_narrow > log_wide) != y).mean() - 0.1) < 0.004


@given(seed=st.integers(0, 1000))
def test_swapping_exchanges_the_labels_and_does_not_change_the_features(seed):
    X, y = MovingGaussians(seed=seed).take(500)
    swapped_X, swapped_y = MovingGaussians(concepts=["swapped"], seed=seed).take(500)
    assert np.array_equal(X, swapped_X)
    assert np.array_equal(y, 1 - swapped_y)
