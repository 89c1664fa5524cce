"""Many threads classify while one learns: every call uses one consistent state and waits for no batch."""

import copy
import pickle
import threading
import time

import numpy as np
import pandas as pd
import pytest

from anystream import load
from tests.all_classifiers import INCREMENTAL, clusters

LABELS = {f"class {c}" for c in range(64)}


def check_answer(model, records):
    answer = model.classify(records, budget=5)
    assert np.abs(answer.proba.sum(axis=1) - 1).max() < 1e-9
    assert set(answer.labels.tolist()) <= LABELS


def check_stages(model, records):
    for labels in model.staged_predict(records, stages=[0, 2]):
        assert set(labels.tolist()) <= LABELS


def check_query(model, records):
    query = model.query(records[0]).refine(3)
    assert query.label in LABELS
    assert abs(query.proba.sum() - 1) < 1e-9
    again = model.query(records[0])
    assert again.refine(2).steps <= 2


def check_snapshot(model, records):
    assert set(model.snapshot().predict(records[:2]).tolist()) <= LABELS


def check_named_records(model, records):
    if not hasattr(model, "columns_"):
        return
    x = dict(enumerate(records[0].tolist()))
    assert model.predict_one(x) in LABELS
    proba = model.predict_proba_one(x)
    assert set(proba) <= LABELS
    assert abs(sum(proba.values()) - 1) < 1e-9
    frame = model.predict_proba_many(pd.DataFrame(records[:2]))
    assert np.abs(frame.to_numpy().sum(axis=1) - 1).max() < 1e-9


class Readers:
    """Threads that repeat checks until the block ends; it raises what one of them raised."""

    def __init__(self, *checks):
        self.errors = []
        self.done = threading.Event()
        self.n_calls = [0] * len(checks)
        self.threads = [threading.Thread(target=self.run, args=(i, check)) for i, check in enumerate(checks)]

    def run(self, i, check):
        while not self.done.is_set():
            try:
                check()
            except BaseException as error:
                self.errors.append(error)
                return
            self.n_calls[i] += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        until = time.monotonic() + 30  # every reader reads at least once
        while not all(self.n_calls) and not self.errors and time.monotonic() < until:
            time.sleep(0.001)
        self.done.set()
        for thread in self.threads:
            thread.join()
        if self.errors:
            raise self.errors[0]


@pytest.mark.parametrize("kind", INCREMENTAL)
def test_calls_use_one_state_while_batches_with_new_classes_are_learned(kind):
    records, _ = clusters(6, 3, seed=1)
    model = INCREMENTAL[kind]().partial_fit(*clusters(80, 2))
    checks = [check_answer, check_stages, check_query, check_snapshot, check_named_records]
    with Readers(*(lambda check=check: check(model, records) for check in checks)):
        for classes in range(3, 9):
            model.partial_fit(*clusters(45, classes, seed=classes))
        model.fit(*clusters(80, 5))
        model.partial_fit(*clusters(45, 7))
    assert len(model.classes_) == 7


@pytest.mark.parametrize("kind", [kind for kind in INCREMENTAL if "python metric" not in kind])
def test_named_records_are_classified_while_new_features_and_classes_are_learned(kind):
    model = INCREMENTAL[kind]()
    records, labels = clusters(60, 6)
    for x, y in zip(records[:20], labels[:20], strict=True):
        model.learn_one(dict(enumerate(x.tolist())), y)
    with Readers(lambda: check_named_records(model, records), lambda: check_named_records(model, records[1:])):
        for i, (x, y) in enumerate(zip(records[20:], labels[20:], strict=True)):
            named = dict(enumerate(x.tolist())) | ({f"new {i}": float(i)} if i % 8 == 0 else {})
            model.learn_one(named, y if i % 5 else f"class {10 + i}")
    assert model.n_features_in_ == 8


NATIVE = ["bayes-tree", "neighbors", "neighbors, inverted", "locust", "locust-blocks", "micro-clusters"]


def answers_of(model, records):
    """Return what tells two states of a model apart."""
    return model.predict_proba(records).tobytes(), tuple(model.classes_.tolist()), len(model.columns_)


@pytest.mark.parametrize("kind", [kind for kind in INCREMENTAL if "python metric" not in kind])
def test_a_copy_made_while_records_are_learned_is_the_model_between_two_records(kind, tmp_path):
    records, labels = clusters(60, 3)
    labels = [f"class {20 + i}" if i % 6 == 0 else label for i, label in enumerate(labels)]  # new ones
    named = [dict(enumerate(x.tolist())) for x in records]
    start = pickle.dumps(INCREMENTAL[kind]().partial_fit(*clusters(40, 2, seed=1)))
    twin, model = pickle.loads(start), pickle.loads(start)
    states = {answers_of(twin, records[:5])}
    for x, y in zip(named, labels, strict=True):
        twin.learn_one(x, y)
        states.add(answers_of(twin, records[:5]))
    copies = []

    def save_and_load():
        path = tmp_path / "model.safetensors"
        model.save(path)
        copies.append(load(path))

    ways = [
        lambda: copies.append(pickle.loads(pickle.dumps(model))),
        lambda: copies.append(copy.deepcopy(model)),
        lambda: copies.append(model.snapshot()),
        save_and_load,
    ]
    with Readers(*ways):
        for x, y in zip(named, labels, strict=True):
            model.learn_one(x, y)
    assert len(copies) > 4
    assert {answers_of(each, records[:5]) for each in copies} <= states


def calls_during_a_batch(model, records, batch):
    """Return how many calls begin and end while another thread learns a batch."""
    started, finished = threading.Event(), threading.Event()

    def learn():
        started.set()
        model.partial_fit(*batch)
        finished.set()

    n_calls = 0
    learner = threading.Thread(target=learn)
    learner.start()
    started.wait()
    while not finished.is_set():
        model.classify(records, budget=1)
        n_calls += not finished.is_set()
    learner.join()
    return n_calls


@pytest.mark.parametrize("kind", NATIVE)
def test_a_call_does_not_wait_for_the_batch_that_is_learned(kind):
    model = INCREMENTAL[kind]().partial_fit(*clusters(200, 4, features=8))
    records, _ = clusters(1, 4, seed=1, features=8)
    n_records, n_calls = 8000, 0
    while n_calls < 10 and n_records <= 64_000:  # a busy machine may hold up a call, but not all during longer batches
        n_calls = calls_during_a_batch(model, records, clusters(n_records, 4, seed=2, features=8))
        n_records *= 2
    assert n_calls >= 10  # at most two, before and after the batch, if calls waited for it
