"""KAOGINC learns the same however records arrive: in one call or many, one by one, with features that appear later."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kaoginc_cases import QUERIES, assert_same_model, learn_stream, swapping_stream

from anystream.graph import KAOGINCClassifier


@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 300), max_size=8), paper=st.booleans())
def test_the_division_into_calls_does_not_matter(cuts, paper):
    X, y = swapping_stream(300, 150).take(300)
    make = KAOGINCClassifier.paper if paper else KAOGINCClassifier
    whole, parts = make(batch_size=40).fit(X, y), make(batch_size=40)
    for first, last in zip([0, *sorted(cuts)], [*sorted(cuts), 300], strict=True):
        if first < last:
            parts.partial_fit(X[first:last], y[first:last], classes=[0, 1])
    assert_same_model(whole, parts)
    assert np.array_equal(whole.predict_proba(QUERIES), parts.predict_proba(QUERIES))


def test_single_records_and_batches_give_the_same_model():
    X, y = swapping_stream(200, 100).take(200)
    batches, records = KAOGINCClassifier(), KAOGINCClassifier()
    batches.partial_fit(X, y)
    for row, label in zip(X, y.tolist(), strict=True):
        records.learn_one(dict(enumerate(row.tolist())), label)
    assert_same_model(batches, records)


def test_a_record_is_used_for_classification_at_once():
    model = learn_stream(KAOGINCClassifier(), swapping_stream(160, 80))
    assert len(model.open_batch_) == 0
    assert "new" not in model.predict_proba_one({0: 100.0, 1: 101.0})
    model.learn_one({0: 100.0, 1: 100.0}, "new")
    assert model.predict_proba_one({0: 100.0, 1: 101.0})["new"] > 0.0
    for i in range(8):
        model.learn_one({0: 100.0 + i, 1: 100.0}, "new")
    assert model.predict_one({0: 100.0, 1: 101.0}) == "new"
    assert len(model.open_batch_) == 9
    assert model.principal_.n_batches == 2


def test_features_may_appear_later_and_be_missing():
    model = KAOGINCClassifier(batch_size=20)
    for i in range(50):
        model.learn_one({"a": float(i % 2) * 5.0}, i % 2)
    for i in range(50):
        model.learn_one({"a": float(i % 2) * 5.0, "b": float(i)}, i % 2)
    assert model.n_features_in_ == 2
    assert model.predict_one({"a": 4.9}) == 1
    assert model.predict_one({"a": 0.1, "b": 3.0}) == 0
    assert sum(model.predict_proba_one({}).values()) == pytest.approx(1.0)


@pytest.mark.parametrize("copy", [lambda model: model.clone(include_attributes=True), KAOGINCClassifier.snapshot])
def test_a_copy_learns_independently_of_its_original(copy):
    model = learn_stream(KAOGINCClassifier(), swapping_stream(200, 100))
    twin = copy(model)
    assert_same_model(model, twin)
    before = model.predict_proba(QUERIES)
    twin.partial_fit(*swapping_stream(400, 100).take(200, start=200))
    assert np.array_equal(model.predict_proba(QUERIES), before)
    assert twin.principal_.n_batches == model.principal_.n_batches + 3


def test_several_threads_can_classify_while_one_learns():
    X, y = swapping_stream(2400, 1200).take(2400)
    model = KAOGINCClassifier().partial_fit(X[:100], y[:100], classes=[0, 1])
    failures, done = [], threading.Event()

    def classify():
        while not done.is_set():
            proba = model.predict_proba(QUERIES)
            if not np.allclose(proba.sum(axis=1), 1.0):
                failures.append(proba)

    threads = [threading.Thread(target=classify) for _ in range(3)]
    for thread in threads:
        thread.start()
    model.partial_fit(X[100:1500], y[100:1500])
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
