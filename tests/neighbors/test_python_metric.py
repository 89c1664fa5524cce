"""A Python function as the metric."""

import pickle

import numpy as np
import pytest
from neighbors_cases import make_vectors

from anystream import Budget
from anystream.anytime.errors import RecordError
from anystream.neighbors import AnytimeNeighborsClassifier, python_metric

SETS = [{1, 2}, {2, 3}, {7, 8}, {8, 9}]


def jaccard(a, b):
    return 1 - len(a & b) / len(a | b)


def absolute_difference(a, b):
    return abs(a - b)


@pytest.mark.parametrize("ordering", ["greedy", "simple_rank", "best_drop", "random"])
def test_any_callable_compares_any_objects(ordering):
    model = AnytimeNeighborsClassifier(metric=jaccard, ordering=ordering).fit(SETS, ["low", "low", "high", "high"])
    assert model.predict([{1, 3}, {9}]).tolist() == ["low", "high"]
    query = model.query({9, 10}).refine(1)
    resumed = pickle.loads(pickle.dumps(query))
    assert resumed.refine().label == query.refine().label == "high"
    model.partial_fit([{20}], ["new"])
    assert model.predict([{20, 21}]).tolist() == ["new"]


def test_a_callable_gives_the_same_answers_as_the_named_metric():
    X, y, Q = make_vectors(1, n=60)
    named = AnytimeNeighborsClassifier(ordering="simple_rank").fit(X, y)
    called = AnytimeNeighborsClassifier(
        metric=lambda a, b: float(np.sqrt(((a - b) ** 2).sum())), ordering="simple_rank"
    )
    called.fit(list(X), y)
    for budget in (0, 3, 17, 1000):
        assert np.array_equal(named.predict(Q, budget=budget), called.predict(list(Q), budget=budget))
    assert np.array_equal(named.leave_one_out_profile().accuracy, called.leave_one_out_profile().accuracy)


def test_a_deadline_that_has_passed_leaves_the_labels_of_budget_0():
    model = AnytimeNeighborsClassifier(metric=absolute_difference).fit([1, 2, 30, 31], [0, 0, 1, 1])
    answer = model.classify([3, 29], budget=Budget(seconds=0.0))
    assert answer.steps.tolist() == [0, 0]
    assert np.array_equal(answer.proba, model.predict_proba([3, 29], budget=0))


@pytest.mark.parametrize("value", [float("nan"), -1.0, "far", None])
def test_fit_raises_and_keeps_the_model_if_the_metric_does_not_return_a_distance(value):
    model = AnytimeNeighborsClassifier(metric=absolute_difference).fit([1, 2, 30, 31], [0, 0, 1, 1])
    before = model.predict([3, 29]).tolist()
    model.set_params(metric=lambda a, b: value)
    with pytest.raises(ValueError, match=f"the metric returned {value!r}"):
        model.fit([1, 2, 3], [0, 1, 1])
    assert model.predict([3, 29]).tolist() == before


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (float("nan"), "the record nan cannot be compared with an exemplar: ValueError: the metric returned nan"),
        ("three", "the record 'three' cannot be compared with an exemplar: TypeError"),
    ],
)
def test_a_query_record_that_the_metric_cannot_compare_is_a_record_error(record, message):
    model = AnytimeNeighborsClassifier(metric=absolute_difference).fit([1, 2, 30, 31], [0, 0, 1, 1])
    with pytest.raises(RecordError, match=message):
        model.predict([3, record])
    with pytest.raises(RecordError, match=message):
        list(model.staged_predict([3, record], stages=[0, 1]))
    with pytest.raises(RecordError, match=message):
        model.query(record)


def test_a_training_record_that_the_metric_cannot_compare_leaves_the_model_unchanged():
    model = AnytimeNeighborsClassifier(metric=absolute_difference).fit([1, 2, 30, 31], [0, 0, 1, 1])
    with pytest.raises(TypeError):
        model.partial_fit([5, "six"], [2, 2])
    assert model.classes_.tolist() == [0, 1]
    assert len(model.exemplars_) == 4


def test_ordering_many_records_warns_and_ordering_too_many_raises(monkeypatch):
    monkeypatch.setattr(python_metric, "MAX_ORDERED_SILENTLY", 3)
    monkeypatch.setattr(python_metric, "MAX_ORDERED", 4)
    model = AnytimeNeighborsClassifier(metric=absolute_difference)
    with pytest.warns(UserWarning, match="ordering 4 records calls the metric 6 times"):
        model.fit([1, 2, 30, 31], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="5 records are too many to be ordered by a Python metric"):
        model.fit([1, 2, 30, 31, 32], [0, 0, 1, 1, 1])
    model.set_params(ordering="random").fit([1, 2, 30, 31, 32], [0, 0, 1, 1, 1])
    assert model.predict([3]).tolist() == [0]
