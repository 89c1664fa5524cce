"""Queries: their state, and resuming them."""

import pickle

import numpy as np
import pytest
from neighbors_cases import make_stream

from anystream.neighbors import AnytimeNeighborsClassifier


@pytest.mark.parametrize("metric", ["euclidean", lambda a, b: float(np.abs(a - b).max())])
def test_the_state_of_a_query_is_the_record_and_three_numbers_that_are_checked(metric):
    X, y = make_stream(6, 60)
    model = AnytimeNeighborsClassifier(metric=metric).fit(list(X), y)
    query = model.query(X[0] + 0.1).refine(20)
    record, (best, distance, position) = pickle.loads(pickle.dumps(query.state))
    _, labels, serials = model.exemplars_.export()
    assert model.classes_[labels[best]] == query.label
    assert (serials[best], distance) == query.nearest[0]
    assert position == 20 + model.exemplars_.setup
    resumed = model.query(state=(record, (best, distance, position)))
    assert (resumed.steps, resumed.nearest) == (20, query.nearest)
    for damaged in ((best, distance, 10**6), (10**6, distance, position), (best, distance), (best, "far", position)):
        with pytest.raises(ValueError, match="not the state of a query"):
            model.query(state=(record, damaged))


def test_a_query_uses_the_model_as_it_was_when_the_query_was_opened():
    X, y = make_stream(6, 60)
    model = AnytimeNeighborsClassifier(metric="cosine").fit(X, np.array(["a", "b", "c"])[y])
    query = model.query(X[0] + 0.1).refine(5)
    before = (query.label, query.nearest)
    model.set_params(metric="euclidean").fit(X[:, :1], y + 10)
    assert (query.label, query.nearest) == before
    assert query.refine().label in ("a", "b", "c")


def test_the_state_of_a_query_of_another_model_is_an_error():
    X, y = make_stream(6, 60)
    model = AnytimeNeighborsClassifier().fit(X, y)
    other = AnytimeNeighborsClassifier(ordering="random", random_state=3).fit(X, y)
    with pytest.raises(ValueError, match="not the state of a query of this model"):
        other.query(state=model.query(X[0] + 0.1).refine(20).state)


@pytest.mark.parametrize("parameters", [{"k": 3}, {"search": "inverted"}, {"search": "inverted", "k": 3}, {}])
def test_resuming_does_not_change_how_ties_are_decided(parameters):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (200, 2)).astype(float), rng.integers(0, 3, 200)
    model = AnytimeNeighborsClassifier(**parameters).fit(X, y)
    for x in X[:9]:
        query = model.query(x)
        for _ in range(12):
            query = pickle.loads(pickle.dumps(query)).refine(17)
        assert query.nearest == model.query(x).refine(12 * 17).nearest


@pytest.mark.parametrize("parameters", [{}, {"k": 3}, {"search": "inverted"}])
@pytest.mark.parametrize("position", [-1, -(2**63), -(2**63) + 1, 2**63 - 1])
def test_positions_far_outside_are_rejected(parameters, position):
    X, y = make_stream(6, 60)
    model = AnytimeNeighborsClassifier(**parameters).fit(X, y)
    record, state = model.query(X[0] + 0.1).refine(20).state
    at = 2 if not parameters else 1
    with pytest.raises(ValueError, match="not the state of a query of this model"):
        model.query(state=(record, (*state[:at], position, *state[at + 1 :])))
