"""Bayes trees that learn step by step: insertion, new labels, new features, and readers in other threads."""

import resource
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from anystream import BayesTreeClassifier
from bayes_tree.blobs import blobs
from bayes_tree.plain import plain


def test_inserting_after_a_bulk_load_is_nearly_as_good_as_loading_everything():
    X, y = load_digits(return_X_y=True)
    train, test = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    half = len(train) // 2
    whole = plain().fit(X[train], y[train]).score(X[test], y[test])
    grown = plain().fit(X[train[:half]], y[train[:half]])
    assert grown.partial_fit(X[train[half:]], y[train[half:]]).score(X[test], y[test]) > whole - 0.02
    inserted = plain().partial_fit(X[train], y[train])
    assert inserted.score(X[test], y[test]) > whole - 0.03


@given(seed=st.integers(0, 10**6), n=st.integers(2, 120), cut=st.integers(1, 119), whole=st.booleans())
def test_batches_and_single_records_give_the_same_model(seed, n, cut, whole):
    X, y = blobs(n, d=2, seed=seed)
    X = np.round(X) if whole else X
    at_once = BayesTreeClassifier().partial_fit(X, y, classes=[0, 1, 2])
    in_parts = BayesTreeClassifier().partial_fit(X[:cut], y[:cut], classes=[0, 1, 2])
    for x, label in zip(X[cut:], y[cut:], strict=True):
        in_parts.learn_one(dict(enumerate(x)), label)
    assert np.array_equal(at_once.predict_proba(X), in_parts.predict_proba(X))


def test_new_labels_of_any_type_may_appear_in_the_middle_of_a_stream():
    model = BayesTreeClassifier()
    model.partial_fit([[0.0, 0.0]], ["b"])
    assert model.predict([[5.0, 5.0]]).tolist() == ["b"]
    model.partial_fit([[5.0, 5.0], [5.1, 5.2]], ["a", "a"])
    assert model.classes_.tolist() == ["b", "a"]
    assert model.predict([[5.0, 5.0], [0.1, 0.0]]).tolist() == ["a", "b"]
    model.learn_one({0: -9.0, 1: -9.0}, 7)
    assert model.classes_.tolist() == ["b", "a", 7]
    assert model.predict_one({0: -9.0, 1: -9.0}) == 7


def test_declared_classes_have_columns_before_they_have_records():
    model = BayesTreeClassifier().partial_fit([[0.0], [1.0]], [1, 1], classes=[0, 1, 2])
    assert model.predict_proba([[0.5]]).tolist() == [[0.0, 1.0, 0.0]]
    assert model.classify([[0.5]]).certified.all()


def test_features_may_come_and_go_in_a_stream():
    model = BayesTreeClassifier()
    for i in range(30):
        model.learn_one({"a": float(i % 2), "noise": 0.1 * i}, bool(i % 2))
    for i in range(30):
        model.learn_one({"a": float(i % 2), "b": 10.0 * (i % 2)}, bool(i % 2))
    assert list(model.columns_) == ["a", "noise", "b"]
    assert model.n_features_in_ == 3
    assert model.predict_one({"b": 10.0}) is True
    assert model.predict_one({"a": 0.0, "unknown": 5.0}) is False
    assert model.predict_proba_one({}) == pytest.approx({False: 0.5, True: 0.5})


def test_threads_may_classify_while_another_one_learns():
    X, y = blobs(400)
    model = BayesTreeClassifier().fit(X[:200], y[:200])
    failures = []

    def classify():
        for _ in range(30):
            proba = model.predict_proba(X[:50], budget=20)
            if not np.allclose(proba.sum(axis=1), 1):
                failures.append("a reader used a model that was being changed")

    readers = [threading.Thread(target=classify) for _ in range(3)]
    for reader in readers:
        reader.start()
    for i in range(200, 400, 10):
        model.partial_fit(X[i : i + 10], y[i : i + 10])
    for reader in readers:
        reader.join()
    assert not failures
    expected = BayesTreeClassifier().fit(X[:200], y[:200])
    for i in range(200, 400, 10):
        expected.partial_fit(X[i : i + 10], y[i : i + 10])
    assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_threads_may_classify_while_new_classes_appear():
    X, y = blobs(300)
    model = BayesTreeClassifier().partial_fit(X[:50], y[:50])
    failures = []
    learning = threading.Event()
    learning.set()

    def classify():
        while learning.is_set():
            try:
                assert np.allclose(model.predict_proba(X[:20], budget=5).sum(axis=1), 1)
                model.predict(X[:20], budget=5)
                _ = model.query(X[0]).label
            except Exception as error:  # the test reports it
                failures.append(error)
                return

    readers = [threading.Thread(target=classify) for _ in range(2)]
    for reader in readers:
        reader.start()
    for label in range(3, 200):
        model.partial_fit(X[label : label + 1], [label])
    learning.clear()
    for reader in readers:
        reader.join()
    assert not failures


@pytest.mark.skipif(not hasattr(resource, "RUSAGE_THREAD"), reason="counts page faults of a thread on Linux")
def test_no_record_waits_for_a_copy_of_all_others():
    X, y = blobs(40_000, d=24)
    model = plain(covariance="diagonal")
    faults = []
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        model.learn_one(dict(enumerate(x)), label)
        faults.append(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before)
    assert max(faults) < 400  # pages; 1,469 when the arrays were copied


@pytest.mark.slow
@pytest.mark.parametrize("bandwidth", ["langley", "haerdle", "f0.05"])
@pytest.mark.parametrize("decision", ["mixture", "ensemble", "nearest"])
@pytest.mark.parametrize("root_model", [None, "auto"])
def test_a_class_that_first_appears_in_partial_fit_is_found_from_its_first_record_on(bandwidth, decision, root_model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 5)) + 4.0 * np.repeat(np.eye(3, 5), 300, axis=0), np.repeat([0, 1, 2], 300)
    parameters = {"bandwidth": bandwidth, "decision": decision, "root_model": root_model}
    model = BayesTreeClassifier(**parameters).fit(X[:600], y[:600])
    test = rng.normal(size=(300, 5)) + 4.0 * np.eye(3, 5)[2]
    recalls = []
    for first, last in ((600, 601), (601, 605), (605, 630), (630, 900)):
        model.partial_fit(X[first:last], y[first:last])
        whole = BayesTreeClassifier(**parameters).fit(X[:last], y[:last])
        recalls.append([(each.predict(test, budget=100) == 2).mean() for each in (model, whole)])
    later, fitted = np.transpose(recalls)
    if bandwidth != "f0.05":  # whose kernel does not depend on the class
        assert later[0] > 0.1  # 0.00 when the kernel of a single record had no width
    assert (later[1:] > fitted[1:] - 0.15).all()  # from five records on
    assert later[-1] > 0.9
