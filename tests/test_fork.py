"""A process may fork while another of its threads learns or refines: the child classifies and learns."""

import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest

from anystream import AnytimeForestClassifier, Budget, LocustClassifier, StopToken
from tests.all_classifiers import INCREMENTAL, clusters

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
pytestmark = [pytestmark, pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")]


def run_in_child(work):
    """Return whether a forked child did the work within a minute."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


class Learning:
    """Threads that learn batches and refine a query without end until the block ends.

    The batches are long, so that a fork finds the one thread in native code that holds the lock of the learners, and
    the other in native code that holds the lock of the query.
    """

    def __init__(self, model, query, batch):
        self.model, self.query, self.batch = model, query, batch
        self.done = StopToken()
        self.threads = [threading.Thread(target=self.learn), threading.Thread(target=self.refine)]

    def learn(self):
        while not self.done.is_set():
            self.model.partial_fit(*self.batch)

    def refine(self):
        self.query.refine(Budget(stop=self.done))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        time.sleep(0.05)  # until both are in native code

    def __exit__(self, *_):
        self.done.set()
        for thread in self.threads:
            thread.join()


def endless_query(records, labels):
    """Return a query that always has steps left."""
    return LocustClassifier(max_samples=10**9, n_jobs=1).fit(records, labels).query(records[0])


@pytest.mark.parametrize("kind", ["bayes-tree", "neighbors", "locust", "micro-clusters", "kaoginc"])
def test_a_child_classifies_and_learns_while_a_thread_of_its_parent_learns(kind):
    X, y = clusters(300, 3)
    model = INCREMENTAL[kind]().partial_fit(X, y)
    query = endless_query(X, y)

    def work():
        assert set(model.predict(X[:5])) <= set(y)
        model.partial_fit(*clusters(20, 4))
        assert len(model.classes_) == 4
        assert query.refine(5).label in y
        assert len(query.state) > 0

    with Learning(model, query, clusters(300 if kind == "kaoginc" else 20_000, 3, seed=1)):
        for _ in range(6):
            assert run_in_child(work)


def test_a_child_classifies_with_a_forest_while_a_thread_of_its_parent_classifies():
    X, y = clusters(300, 3)
    forest = AnytimeForestClassifier(n_estimators=8, n_jobs=2).fit(X, y)
    expected = forest.predict_proba(X)
    many = np.tile(X, (200, 1))
    done = threading.Event()

    def classify():
        while not done.is_set():
            forest.predict_proba(many)

    def work():
        assert np.array_equal(forest.predict_proba(X), expected)
        assert forest.query(X[0]).refine(5).label in y

    thread = threading.Thread(target=classify)
    thread.start()
    try:
        assert all(run_in_child(work) for _ in range(6))
    finally:
        done.set()
        thread.join()


def test_multiprocessing_with_fork_classifies_while_a_thread_learns():
    X, y = clusters(300, 3)
    model = INCREMENTAL["bayes-tree"]().partial_fit(X, y)
    with Learning(model, endless_query(X, y), clusters(20_000, 3, seed=1)):
        process = multiprocessing.get_context("fork").Process(target=model.predict, args=(X,))
        process.start()
        process.join(60)
        hangs = process.is_alive()
        process.kill()
    assert not hangs
