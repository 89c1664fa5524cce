"""A full batch is learned in steps while further records arrive; nobody can tell from the results."""

import gc
import pickle

import numpy as np
import pandas as pd
import pytest
from kaoginc_cases import QUERIES, assert_same_model, swapping_stream

from anystream import Budget
from anystream.graph import KAOGINCClassifier, learned_stream
from anystream.graph.learning import STEPS
from anystream.graph.native_graph import PrincipalIndex

SETTINGS = [{}, {"batch_size": 20}, {"pruning": "repeated", "tau": 90}, {"on_change": "restart", "metric": "plain"}]


def records_of(n):
    X, y = next(iter(swapping_stream(n, n // 2).batches(n)))
    return [(dict(enumerate(x)), label) for x, label in zip(X.tolist(), y.tolist(), strict=True)]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_it_makes_no_difference_when_somebody_asks(settings):
    always, never, often = (KAOGINCClassifier(n_jobs=1, **settings) for _ in range(3))
    rng = np.random.default_rng(0)
    for number, (x, label) in enumerate(records_of(900)):
        for model in (always, never, often):
            model.learn_one(x, label)
        expected = always.predict_proba(QUERIES)
        if rng.random() < 0.2:
            often = pickle.loads(pickle.dumps(often)) if number % 2 else often.snapshot()
            np.testing.assert_array_equal(often.predict_proba(QUERIES), expected, err_msg=str(number))
    for model in (never, often):
        assert_same_model(model, always)
        np.testing.assert_array_equal(model.predict_proba(QUERIES), always.predict_proba(QUERIES))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_steps_give_the_graph_that_batches_learned_at_once_give(settings):
    records = records_of(900)
    one_by_one, at_once = KAOGINCClassifier(n_jobs=1, **settings), KAOGINCClassifier(n_jobs=1, **settings)
    for x, label in records:
        one_by_one.learn_one(x, label)
    at_once.learn_many(pd.DataFrame([x for x, _ in records]), pd.Series([label for _, label in records]))
    assert_same_model(one_by_one, at_once)


@pytest.mark.parametrize("settings", [*SETTINGS[:2], {"batch_size": 1}], ids=str)
def test_no_record_takes_more_than_its_share_of_the_steps(settings, monkeypatch):
    weights, learning_steps = [], learned_stream.learning_steps

    def counted(*arguments):
        steps = learning_steps(*arguments)
        while True:
            try:
                weight = next(steps)
            except StopIteration as end:
                return end.value
            weights[-1] += weight
            yield weight

    monkeypatch.setattr(learned_stream, "learning_steps", counted)
    model = KAOGINCClassifier(n_jobs=1, **settings)
    for x, label in records_of(900):
        weights.append(0)
        model.learn_one(x, label)
    assert sum(weights) > 300
    assert max(weights) <= -(-STEPS // model.batch_size) + 1  # the last step may weigh 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_steps_that_fail_are_taken_again(error, monkeypatch):
    expected, model = KAOGINCClassifier(n_jobs=1), KAOGINCClassifier(n_jobs=1)
    learning_steps, left = learned_stream.learning_steps, [3, 10, 40, 1]

    def failing(*arguments):
        n = left.pop() if left else None
        steps, taken = learning_steps(*arguments), 0
        while True:
            if taken == n:
                raise error
            try:
                weight = next(steps)
            except StopIteration as end:
                return end.value
            taken += 1
            yield weight

    for x, label in records_of(400):
        expected.learn_one(x, label)
    monkeypatch.setattr(learned_stream, "learning_steps", failing)
    n_errors = 0
    for x, label in records_of(400):
        while True:
            before = model.open_batch_ if hasattr(model, "classes_") else None
            try:
                model.learn_one(x, label)
                break
            except error:
                assert model.open_batch_ is before
                n_errors += 1
    assert n_errors == 3  # the first batch has fewer than 40 steps
    assert_same_model(model, expected)


def test_a_deadline_does_not_wait_for_a_batch_that_is_learned(monkeypatch):
    model = KAOGINCClassifier(n_jobs=1, batch_size=40)
    records = records_of(400)
    for x, label in records[:279]:
        model.learn_one(x, label)
    before = model.predict_proba(QUERIES)
    weights, learning_steps = [], learned_stream.learning_steps

    def counted(*arguments):
        steps = learning_steps(*arguments)
        while True:
            try:
                weights.append(next(steps))
            except StopIteration as end:
                return end.value
            yield weights[-1]

    monkeypatch.setattr(learned_stream, "learning_steps", counted)
    for x, label in records[279:290]:  # the first of them fills a batch
        model.learn_one(x, label)
        n_taken = len(weights)
        answer = model.classify(QUERIES, budget=Budget(seconds=60))
        assert answer.proba.tolist() == before.tolist()
        assert model.prior_proba().sum() == pytest.approx(1.0)
        assert len(weights) == n_taken > 0
    x, _ = records[290]
    model.learn_one(x, "new")  # of a class that the graph does not know yet
    answer = model.classify(QUERIES, budget=Budget(seconds=60))
    assert answer.proba[:, :-1].tolist() == before.tolist()
    assert not answer.proba[:, -1].any()
    after = model.predict_proba(QUERIES)  # takes the steps that are left
    assert len(weights) > n_taken
    assert not np.array_equal(after[:, :-1], before)
    assert model.classify(QUERIES, budget=Budget(seconds=60)).proba.tolist() == after.tolist()


def test_a_deadline_does_not_wait_for_the_index_of_a_learned_batch(monkeypatch):
    steps, building_steps = [], PrincipalIndex.building_steps

    def counted(*arguments):
        index = building_steps(*arguments)
        while True:
            steps.append(1)
            try:
                weight = next(index)
            except StopIteration as end:
                return end.value
            yield weight

    monkeypatch.setattr(PrincipalIndex, "building_steps", counted)
    model = KAOGINCClassifier(n_jobs=1, batch_size=40)
    records = records_of(400)
    for number, (x, label) in enumerate(records):
        n_taken = len(steps)
        model.learn_one(x, label if number % 100 else f"new {number}")  # some of a class that the index does not know
        assert len(steps) - n_taken <= -(-STEPS // 40)
        n_taken = len(steps)
        answer = model.classify(QUERIES, budget=Budget(seconds=60))
        assert len(steps) == n_taken or number == 0  # an empty index
        assert answer.proba.shape[1] == len(model.classes_)
    assert len(steps) > 30
    expected = model.predict_proba(QUERIES)
    assert model.classify(QUERIES, budget=Budget(seconds=60)).proba.tolist() == expected.tolist()


def test_only_the_stream_before_the_present_batch_is_kept():
    model = KAOGINCClassifier(n_jobs=1, batch_size=20)
    records = records_of(400)
    model.learn_one(*records[0])
    gc.collect()
    others = sum(isinstance(each, learned_stream.LearnedStream) for each in gc.get_objects()) - 1
    for x, label in records[1:]:
        model.learn_one(x, label)
    gc.collect()
    assert sum(isinstance(each, learned_stream.LearnedStream) for each in gc.get_objects()) - others <= 2


def test_the_stream_before_is_returned_even_if_another_thread_frees_it_meanwhile():
    class Freeing:
        @property
        def is_done(self):
            stream._before = None
            return False

    before = object()
    stream = learned_stream.LearnedStream(Freeing(), None, None, before)
    assert stream.ready() is before
