"""Invalid parameters and records raise errors and change nothing."""

import numpy as np
import pytest
from neighbors_cases import make_stream, make_vectors

from anystream.anytime.errors import RecordError
from anystream.neighbors import AnytimeNeighborsClassifier


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({"metric": "euclid"}, [[1.0], [2.0]], "metric is 'euclid'; use one of"),
        ({"metric": "euclidean"}, ["one", "two"], "compares numbers: use metric='edit' for texts"),
        ({"metric": "euclidean"}, [["one"], ["two"]], "'gower' or 'hamming' for categories"),
        ({"metric": "dtw"}, [[1.0, 2.0], [2.0]], "records differ in length"),
        ({"metric": "edit"}, {"one", "two"}, "records are a set; pass a list of texts"),
        ({"metric": "dtw", "metric_params": {"band": True}}, [[1.0], [2.0]], "band is True"),
        ({"metric": "gower", "metric_params": {"categorical": ["a"]}}, [[1.0], [2.0]], "use column numbers"),
        ({"random_state": -1}, [[1.0], [2.0]], "random_state is -1"),
        ({"n_jobs": 0}, [[1.0], [2.0]], "n_jobs is 0"),
        ({"metric": "edit"}, [[1.0], [2.0]], "compares texts"),
        ({"metric": "dtw"}, [[1.0, np.nan], [2.0, 1.0]], "missing value"),
        ({"metric": "dtw", "metric_params": {"band": 2.5}}, [[1.0], [2.0]], "band is 2.5"),
        ({"metric": "dtw", "metric_params": {"width": 1}}, [[1.0], [2.0]], "takes other parameters, or none"),
        ({"metric": "gower", "metric_params": {"categorical": [5]}}, [[1.0], [2.0]], "categorical is"),
        ({"metric": "mahalanobis"}, [[1.0, 1.0], [2.0, 2.0]], "has no inverse"),
        ({"scaling": "log"}, [[1.0], [2.0]], "scaling is 'log'"),
        ({"ordering": "best"}, [[1.0], [2.0]], "ordering is 'best'; use one of"),
        ({"search": "tree"}, [[1.0], [2.0]], "search is 'tree'"),
        ({"trim": True}, [[1.0], [2.0]], "trim is True"),
        ({"k": 0}, [[1.0], [2.0]], "k is 0"),
        ({"window": 0}, [[1.0], [2.0]], "window is 0"),
        ({"max_bytes": 10}, [[1.0], [2.0]], "max_bytes is 10"),
        ({"max_bytes": 10**6, "metric": "edit"}, ["one", "two"], "texts differ in length; use window"),
        ({"scaling": "minmax", "metric": "edit"}, ["one", "two"], "texts have no scale"),
        ({"metric": "hamming", "metric_params": {"categorical": [0]}}, [[1.0], [2.0]], "takes other parameters"),
        ({"budget": -1}, [[1.0], [2.0]], "budget is -1"),
        ({"metric": min, "scaling": "minmax"}, [1, 2], "scaling is 'minmax', but the metric is a callable"),
        ({"metric": min, "max_bytes": 1000}, [1, 2], "max_bytes is 1000, but the metric is a callable"),
        ({"metric": min, "search": "inverted"}, [1, 2], "search is 'inverted', but the metric is a callable"),
        ({"max_bytes": 1000, "search": "inverted"}, [[1.0], [2.0]], "max_bytes is 1000; use at least [0-9]+"),
    ],
)
def test_invalid_input_raises_before_anything_changes(parameters, X, message):
    model = AnytimeNeighborsClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, [0, 1])
    assert vars(model) == vars(AnytimeNeighborsClassifier(**parameters))


def test_a_fit_that_fails_leaves_the_model_unchanged():
    X, y, Q = make_vectors(1)
    model = AnytimeNeighborsClassifier().fit(X, y)
    before = model.predict(Q)
    model.set_params(metric="mahalanobis")
    with pytest.raises(ValueError, match="has no inverse"):
        model.fit(np.ones((4, 2)), [0, 0, 1, 1])
    model.set_params(metric="euclidean")
    assert np.array_equal(model.predict(Q), before)


def test_series_of_another_length_raise_and_leave_the_model_unchanged():
    model = AnytimeNeighborsClassifier(metric="dtw").fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit([[1.0, 2.0, 3.0]], [1])
    with pytest.raises(ValueError, match="3 values, fit saw 2"):
        model.query([1.0, 2.0, 3.0])
    assert model.predict([[1.0, 2.0]]).tolist() == [0]


@pytest.mark.parametrize(
    "parameters", [{"metric": "mahalanobis"}, {"metric": "gower"}, {"scaling": "minmax"}, {"scaling": "standard"}]
)
def test_a_stream_cannot_start_with_a_distance_that_is_learned_from_many_records(parameters):
    model = AnytimeNeighborsClassifier(**parameters)
    with pytest.raises(ValueError, match="learns from many records how to measure; start with fit"):
        model.partial_fit([[1.0, 2.0]], [0])
    with pytest.raises(ValueError, match="learns from many records how to measure; start with fit"):
        model.learn_one({"a": 1.0, "b": 2.0}, 0)
    assert vars(model) == vars(AnytimeNeighborsClassifier(**parameters))


def test_a_query_record_with_a_missing_value_is_a_record_error_if_the_distance_cannot_leave_it_out():
    model = AnytimeNeighborsClassifier(metric="dtw").fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    with pytest.raises(RecordError, match="missing value"):
        model.predict([[1.0, np.nan]])
    with pytest.raises(RecordError, match="missing value"):
        model.query([1.0, np.nan])


def test_parameters_of_learning_hold_until_the_next_fit():
    X, y = make_stream(1, 100)
    model = AnytimeNeighborsClassifier(window=10).fit(X[:50], y[:50])
    model.set_params(window=20).partial_fit(X[50:], y[50:])
    assert (len(model.exemplars_), model.recipe_.capacity) == (10, 10)
    assert len(model.fit(X, y).exemplars_) == 20
