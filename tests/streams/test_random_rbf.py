"""Random RBF: records around weighted centres that may move."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.streams import RandomRBF
from streams.drawn_streams import streams


@given(stream=streams(generators=(RandomRBF,), noise=st.just(0.0)), start=st.integers(0, 10**6))
def test_records_are_at_the_current_centres_if_the_spread_is_0(stream, start):
    stream = replace(stream, spread=0.0, n_records=None)
    X, y = stream.take(20, start=start)
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        components = stream.components_at(start + i)
        distance = np.linalg.norm(components.centers - x, axis=1)
        assert distance.min() < 1e-9
        assert label in components.labels[distance < 1e-9]
        assert components.centers.min() >= 0.0
        assert components.centers.max() <= 1.0


def test_centres_have_their_weight_and_their_deviation():
    stream = RandomRBF(concepts=[3], n_features=6, n_centers=4, spread=0.01, seed=1)
    components = stream.components_at(0)
    X, y = stream.take(100_000)
    distance = np.linalg.norm(X[:, np.newaxis] - components.centers, axis=2)
    chosen = distance.argmin(axis=1)
    assert np.abs(np.bincount(chosen, minlength=4) / len(X) - components.weights).max() < 0.01
    assert np.array_equal(components.labels[chosen], y)
    for k in range(4):
        spread = np.sqrt((distance[chosen == k, k] ** 2).mean())
        assert spread == pytest.approx(components.deviations[k], rel=0.05)
    assert components.weights.sum() == pytest.approx(1.0)


def test_centres_move_at_their_speed_and_are_reflected():
    stream = RandomRBF(n_features=3, n_centers=20, speed=0.01)
    centers = np.array([stream.components_at(t).centers for t in range(500)])
    step = np.linalg.norm(np.diff(centers, axis=0), axis=2)
    assert step.max() <= 0.01 + 1e-12
    inside = (centers[:-1] > 0.01).all(axis=2) & (centers[:-1] < 0.99).all(axis=2)  # no face within one step
    assert step[inside] == pytest.approx(0.01)
    assert not inside.all()


def test_streams_of_one_concept_share_their_centres():
    first, second = RandomRBF(concepts=[5], seed=1), RandomRBF(concepts=[5], seed=2)
    other = RandomRBF(concepts=[6], seed=1)
    assert np.array_equal(first.components_at(0).centers, second.components_at(7).centers)
    assert not np.array_equal(first.components_at(0).centers, other.components_at(0).centers)
    with pytest.raises(ValueError, match="read-only"):
        first.components_at(0).centers[:] = 0.0
