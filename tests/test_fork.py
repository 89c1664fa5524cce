"""A process may fork while another of its threads learns or refines: the child classifies and learns."""

import multiprocessing
import os
import signal
import threading
import time

import pytest

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
    """A thread that learns batches and refines a query until the block ends."""

    def __init__(self, model, query, batch):
        self.model, self.query, self.batch = model, query, batch
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.done.is_set():
            self.model.partial_fit(*self.batch)
            self.query.refine(100)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


@pytest.mark.parametrize("kind", ["bayes-tree", "neighbors", "locust", "micro-clusters", "kaoginc"])
def test_a_child_classifies_and_learns_while_a_thread_of_its_parent_learns(kind):
    X, y = clusters(300, 3)
    model = INCREMENTAL[kind]().partial_fit(X, y)
    query = model.query(X[0])

    def work():
        assert set(model.predict(X[:5])) <= set(y)
        model.partial_fit(*clusters(20, 4))
        assert len(model.classes_) == 4
        assert query.refine(5).label in y

    with Learning(model, query, (X, y)):
        for _ in range(6):
            assert run_in_child(work)


def test_multiprocessing_with_fork_classifies_while_a_thread_learns():
    X, y = clusters(300, 3)
    model = INCREMENTAL["bayes-tree"]().partial_fit(X, y)
    with Learning(model, model.query(X[0]), (X, y)):
        process = multiprocessing.get_context("fork").Process(target=model.predict, args=(X,))
        process.start()
        process.join(60)
        hangs = process.is_alive()
        process.kill()
    assert not hangs
