"""An interrupt, such as Ctrl-C, ends native work soon and leaves the model as it was."""

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from anystream import AnytimeNeighborsClassifier, BayesTreeClassifier, Budget, LocustClassifier
from tests.all_classifiers import INCREMENTAL, clusters

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers for signals")


def interrupt_after(seconds, work):
    """Raise KeyboardInterrupt in `work` after a time, as Ctrl-C does; return the CPU time of the work until its end."""

    def handle(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handle)
    begin = time.process_time()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        return time.process_time() - begin
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def cpu_seconds_of(work):
    begin = time.process_time()
    work()
    return time.process_time() - begin


@pytest.mark.slow
@pytest.mark.parametrize("group", ["sampling", "neighbors", "trees", "forests and whitening"])
def test_calls_that_would_take_minutes_end_soon_after_a_signal(group):
    script = Path(__file__).with_name("long_calls.py")
    command = [sys.executable, "-P", str(script), group]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, env=os.environ, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    calls = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    assert len(calls) >= 9
    assert max((float(units), name) for units, name in calls) < (25.0, "")  # units of CPU time, see there


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_predict_and_stages_are_interrupted(n_jobs):
    X, y = clusters(4000, 4, features=8)
    tree = BayesTreeClassifier(construction="hilbert", metric=None, root_model=None, n_jobs=n_jobs)
    model = tree.fit(X, y)
    many = np.tile(X, (50, 1))
    whole = 50 * cpu_seconds_of(lambda: model.predict(X, budget=2000))
    before = pickle.dumps(model)
    assert interrupt_after(0.2, lambda: model.predict(many, budget=2000)) < whole / 2
    assert interrupt_after(0.2, lambda: list(model.staged_predict(many, stages=[0, 2000]))) < whole / 2
    assert pickle.dumps(model) == before


def test_learning_is_interrupted_and_changes_nothing():
    X, y = clusters(100, 4, features=8)
    model = AnytimeNeighborsClassifier(ordering="random", n_jobs=1).partial_fit(X, y)
    before = pickle.dumps(model)
    many = np.tile(X, (3000, 1)), np.tile([*y[:-1], "new"], 3000)
    interrupt_after(0.6, lambda: [model.snapshot().partial_fit(*many) for _ in range(1000)])
    assert pickle.dumps(model) == before


def test_refine_without_an_end_is_interrupted():
    X, y = clusters(300, 4)
    query = LocustClassifier(max_samples=10**9).fit(X, y).query(X[0])
    interrupt_after(0.2, lambda: query.refine(Budget()))
    assert query.steps < 10**9  # which takes hours
    assert query.refine(5).label in y


@pytest.mark.parametrize("kind", INCREMENTAL)
def test_labels_that_are_missing_are_rejected_before_anything_changes(kind):
    model = INCREMENTAL[kind]().partial_fit(*clusters(50, 2))
    before = pickle.dumps(model)
    for missing in (None, float("nan"), np.datetime64("NaT")):
        with pytest.raises(ValueError, match=r"label|NaN|target"):
            model.partial_fit([[0.0, 1.0, 2.0]], np.array([missing], dtype=object))
        if hasattr(model, "columns_"):
            with pytest.raises(ValueError, match="label 0 is"):
                model.learn_one({0: 1.0, 1: 2.0, 2: 0.0}, missing)
    assert pickle.dumps(model) == before
