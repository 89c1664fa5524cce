"""One query in several threads: some read it while another refines it."""

import pickle
import threading

import numpy as np
import pytest
from tests.all_classifiers import INCREMENTAL, clusters

from anystream import AnytimeForestClassifier, BayesTreeClassifier, Budget, KAOGClassifier, LocustClassifier, StopToken
from anystream.estimators import StepwiseClassifier


class Counting(StepwiseClassifier):
    """Takes 300 steps, each of which moves the vote to the next class."""

    def __init__(self, *, budget=10):
        self.budget = budget

    def fit_records(self, records, numbers, n_classes):
        self.n_classes_ = n_classes

    def start(self, record):
        return 0

    def next_state(self, state):
        return state + 1 if state < 300 else None

    def proba_of(self, state):
        return np.eye(self.n_classes_)[state % self.n_classes_]


NATIVE = ("bayes-tree", "neighbors", "neighbors, inverted", "locust-blocks", "micro-clusters", "kaog")
KINDS = INCREMENTAL | {"kaog": KAOGClassifier, "stepwise": Counting, "forest": AnytimeForestClassifier}


def read_until(done, query, model, end, errors):
    """Read everything that a query shows, and resume each of its states: it must end like the query itself."""
    try:
        while not done.is_set():
            assert query.label in model.classes_
            assert abs(query.proba.sum() - 1) < 1e-9
            exhausted = query.exhausted  # first: the query may take its last step between the two
            assert query.certified or not exhausted
            assert 0 <= query.steps <= end.steps
            again = model.query(state=query.state)
            assert again.label in model.classes_
            assert np.array_equal(again.refine().proba, end.proba)
    except BaseException as error:
        errors.append(error)


@pytest.mark.parametrize("kind", KINDS)
def test_a_query_is_read_while_another_thread_refines_it(kind):
    model = KINDS[kind]()
    X, y = clusters(4000 if kind in NATIVE else 120, 4)
    model.fit(X, y)
    end = model.query(X[0]).refine()
    for _ in range(12 if kind in NATIVE else 2):
        query, done, errors = model.query(X[0]), threading.Event(), []
        readers = [threading.Thread(target=read_until, args=(done, query, model, end, errors)) for _ in range(2)]
        for thread in readers:
            thread.start()
        for steps in (0, 1, 2, 70, 5, 100, *[65] * 40):  # above 64 steps the other threads run at the same time
            query.refine(steps)
        query.refine()
        done.set()
        for thread in readers:
            thread.join()
        if errors:
            raise errors[0]
        assert (query.steps, query.label) == (end.steps, end.label)
        assert np.array_equal(query.proba, end.proba)
        assert np.array_equal(pickle.loads(pickle.dumps(query)).proba, end.proba)


def test_states_that_are_read_during_a_long_refine_are_whole():
    X, y = clusters(100_000, 2, features=2)
    tree = BayesTreeClassifier(construction="hilbert", metric=None, root_model=None, covariance="diagonal", n_jobs=1)
    model = tree.fit(X, y)
    for _ in range(8):
        query, done, errors = model.query(X[0]), threading.Event(), []

        def read(query=query, done=done, errors=errors):
            try:
                while not done.is_set():
                    assert abs(model.query(state=query.state).proba.sum() - 1) < 1e-9
                    assert len(query.frontier) > 0
            except BaseException as error:
                errors.append(error)

        readers = [threading.Thread(target=read) for _ in range(2)]
        for thread in readers:
            thread.start()
        query.refine()
        done.set()
        for thread in readers:
            thread.join()
        assert not errors


def test_two_threads_that_refine_take_all_their_steps():
    X, y = clusters(2000, 4)
    model = KINDS["bayes-tree"]().fit(X, y)
    query = model.query(X[0])
    threads = [threading.Thread(target=lambda: [query.refine(7) for _ in range(20)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert query.steps == 280
    assert np.array_equal(query.proba, model.query(X[0]).refine(280).proba)


def test_a_label_is_read_without_waiting_for_the_end_of_refine():
    X, y = clusters(3000, 4)
    query = LocustClassifier(max_samples=10**9).fit(X, y).query(X[0])
    token, given_up = StopToken(), []
    watchdog = threading.Timer(60, lambda: (given_up.append(True), token.set()))
    watchdog.start()
    refining = threading.Thread(target=lambda: query.refine(Budget(stop=token)))
    refining.start()
    while query.steps < 10_000 and not given_up:
        assert query.label.startswith("class")
        assert len(query.state) > 0
    token.set()
    refining.join()
    watchdog.cancel()
    assert not given_up
