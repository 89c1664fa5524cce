"""Native threads that help with batches: kept between calls, without signals, ended before a fork."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from anystream import AnytimeForestClassifier, Budget, _native
from tests.all_classifiers import clusters

TASKS = Path("/proc/self/task")

pytestmark = [
    pytest.mark.skipif(not TASKS.exists(), reason="this system does not list threads in /proc"),
    pytest.mark.skipif(_native.thread_count() < 2, reason="one core: there are no helpers"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]

X, Y = clusters(300, 3)
MANY = np.tile(X, (20, 1))


@pytest.fixture(scope="module")
def forest():
    return AnytimeForestClassifier(n_estimators=8, n_jobs=2).fit(X, Y)


def list_threads():
    return {task.name for task in TASKS.iterdir()}


def list_helpers(forest):
    """Return the threads that a call leaves behind."""
    before_any = list_threads_after_fork()
    forest.predict_proba(MANY)
    return list_threads() - before_any


def list_threads_after_fork():
    """Return the threads once a fork has ended the idle helpers."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return list_threads()


def test_calls_use_the_same_threads_again(forest):
    helpers = list_helpers(forest)
    assert len(helpers) == 1
    before = list_threads()
    for _ in range(20):
        forest.predict_proba(MANY)
        forest.classify(MANY, budget=Budget(seconds=0.002))
    assert list_threads() == before


def test_there_are_as_many_helpers_as_calls_need_at_once(forest):
    list_threads_after_fork()
    n_before = len(list_threads())
    callers = [threading.Thread(target=lambda: [forest.predict_proba(MANY) for _ in range(10)]) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    others = list_threads() - {str(caller.native_id) for caller in callers}  # they may still be ending
    assert len(others) <= n_before + 4


def blocked_signals(thread):
    """Return the signals that a thread blocks, as bits."""
    status = (TASKS / thread / "status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("SigBlk")).split()[1], 16)


def test_helpers_take_no_signals_of_the_program(forest):
    (helper,) = list_helpers(forest)
    blocked, until = blocked_signals(helper), time.monotonic() + 60
    while blocked >> (signal.SIGBUS - 1) & 1 and time.monotonic() < until:  # all, before the thread has begun to run
        blocked = blocked_signals(helper)
    assert all(blocked >> (number - 1) & 1 for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM))
    assert not any(blocked >> (number - 1) & 1 for number in (signal.SIGBUS, signal.SIGSEGV))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()  # of this thread, as before


def test_idle_helpers_end_before_a_fork_and_start_again_behind_it(forest):
    expected = forest.predict_proba(MANY)
    (helper,) = list_helpers(forest)
    child = os.fork()
    if child == 0:
        alone = len(list_threads()) == 1
        right = np.array_equal(forest.predict_proba(MANY), expected)
        os._exit(0 if alone and right and len(list_threads()) == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert helper not in list_threads()
    assert np.array_equal(forest.predict_proba(MANY), expected)


def test_a_process_with_idle_helpers_ends():
    program = (
        "import numpy as np; from anystream import AnytimeForestClassifier; "
        "X = np.arange(6000.0).reshape(3000, 2); "
        "AnytimeForestClassifier(n_estimators=8, n_jobs=2).fit(X, X[:, 0] > 3000).predict_proba(X)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
