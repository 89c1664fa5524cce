"""Calls of the native core that would take minutes, each ended by Ctrl-C after a moment.

Run by `test_interrupts` in a process of its own, so that a call which does not end fails a test and no more. The
argument is a group of calls; a line is printed for each: the CPU time from the signal to its end, and its name. The
unit of time is a fixed piece of work, some 0.1 s: a slower machine has a longer unit.
"""

import itertools
import signal
import sys
import threading
import time

import numpy as np

from anystream import (
    AnytimeForestClassifier,
    AnytimeNeighborsClassifier,
    BayesTreeClassifier,
    Budget,
    KAOGClassifier,
    LocustClassifier,
)
from anystream.subspace import BlockLocustClassifier

DELAY_S = 0.3  # from the start of a call to the signal
ENDLESS = 10**9  # steps
TREES = ("em_top_down", "guttman", "goldberger", "virtual_sampling", "str", "hilbert", "z_curve", "nearest_mean")


def records(count, features):
    """Return records of four classes that overlap."""
    rng = np.random.default_rng(0)
    y = np.arange(count) % 4
    return rng.normal(size=(count, features)) + y[:, np.newaxis] / 2, y


def sampling_calls():
    """Yield calls for few records and very many steps."""
    X, y = records(300, 3)
    named = dict(enumerate(X[0].tolist()))
    for make in (LocustClassifier, BlockLocustClassifier):
        for n_jobs in (1, 2):
            model = make(max_samples=ENDLESS, n_jobs=n_jobs).fit(X, y)
            name = f"{make.__name__}, {n_jobs} threads, "
            yield name + "predict", lambda m=model: m.predict(X[:2], budget=ENDLESS)
            yield name + "staged_predict", lambda m=model: [*m.staged_predict(X[:2], stages=[ENDLESS])]
            yield name + "classify for an hour", lambda m=model: m.classify(X[:2], budget=Budget(seconds=3600))
        single = make(max_samples=ENDLESS, budget=ENDLESS).fit(X, y)
        yield f"{make.__name__}, predict_one", lambda m=single: m.predict_one(named)
        yield f"{make.__name__}, predict_proba_one", lambda m=single: m.predict_proba_one(named)
        yield f"{make.__name__}, refine", lambda m=single: m.query(X[0]).refine()


def neighbor_calls():
    """Yield calls that compare very long series, and orders of many of them."""
    X, y = records(600, 1500)
    dtw = {"metric": "dtw", "metric_params": {"band": 1.0}, "calibrate": False, "n_jobs": 1}
    model = AnytimeNeighborsClassifier(ordering="random", **dtw).fit(X, y)
    yield "dtw.predict", lambda: model.predict(X[:20] + 1e-3, budget=ENDLESS)
    yield "dtw.staged", lambda: [*model.staged_predict(X[:20] + 1e-3, stages=[ENDLESS])]
    yield "dtw.predict_one", lambda: [model.predict_one(dict(enumerate((x + 1e-3).tolist()))) for x in X]
    yield "dtw.leave_one_out", model.leave_one_out_profile
    calibrated = AnytimeNeighborsClassifier(ordering="random", **(dtw | {"calibrate": True}))
    yield "dtw, calibration", lambda: calibrated.fit(X, y)
    for ordering in ("simple_rank", "greedy", "drop3"):
        fresh = AnytimeNeighborsClassifier(ordering=ordering, **dtw)
        yield f"dtw, order {ordering}", lambda m=fresh: m.fit(X, y)
    many, labels = records(60_000, 24)
    for ordering in ("simple_rank", "drop2"):
        fresh = AnytimeNeighborsClassifier(ordering=ordering, n_jobs=1)
        yield f"vectors, order {ordering}", lambda m=fresh: m.fit(many, labels)
    yield "KAOG.fit", lambda: KAOGClassifier(n_jobs=1).fit(many, labels)


def tree_calls():
    """Yield constructions of large trees."""
    X, y = records(150_000, 24)
    for construction in TREES:
        model = BayesTreeClassifier(construction=construction, metric=None, root_model=None, n_jobs=1)
        yield f"fit, {construction}", lambda m=model: [m.fit(X, y) for _ in range(50)]
    yield "fit, default", lambda: BayesTreeClassifier(n_jobs=1).fit(X, y)
    grown = BayesTreeClassifier(construction="hilbert", metric=None, root_model=None, n_jobs=1).fit(X, y)
    yield "partial_fit", lambda: [grown.partial_fit(X, y) for _ in range(50)]
    yield "predict", lambda: grown.predict(X[:2000], budget=ENDLESS)


def forest_calls():
    """Yield the training of large forests, and calls for very many records."""
    X, y = records(4000, 24)
    for n_jobs in (1, 2):
        model = AnytimeForestClassifier(n_estimators=200, n_jobs=n_jobs).fit(X, y)
        many = np.tile(X, (200, 1))
        name = f"forest, {n_jobs} threads, "
        yield name + "predict", lambda m=model, q=many: [m.predict(q, budget=ENDLESS) for _ in range(50)]
        yield (
            name + "classify for an hour",
            lambda m=model, q=many: [m.classify(q, budget=Budget(seconds=3600)) for _ in range(50)],
        )
        yield (
            name + "staged_predict",
            lambda m=model, q=many[:200_000]: [[*m.staged_predict(q, stages=[10, ENDLESS])] for _ in range(50)],
        )
        for order in ("squirrel", "gain"):
            fresh = AnytimeForestClassifier(n_estimators=400, order=order, n_jobs=n_jobs)
            yield name + f"fit, order {order}", lambda m=fresh: [m.fit(X, y) for _ in range(50)]
    named = dict(enumerate(X[0].tolist()))
    yield "forest, predict_one", lambda m=model: [m.predict_one(named) for _ in range(10**7)]


def whitening_calls():
    """Yield the learning of whitening matrices of the most features that are allowed, ended at several moments."""
    X, y = records(2500, 2048)
    for delay_s in (0.3, 1.5, 3.0):
        model = BayesTreeClassifier(metric="whiten", root_model=None, construction="hilbert")
        yield f"whiten, after {delay_s} s", lambda m=model: [m.fit(X, y) for _ in range(50)], delay_s


def interrupted_s(call, delay_s=DELAY_S):
    """Return the CPU time that a call takes after Ctrl-C; raise if it ends without KeyboardInterrupt."""
    at = [0.0]

    def interrupt(*_):
        raise KeyboardInterrupt

    def send():
        time.sleep(delay_s)
        at[0] = time.process_time()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

    signal.signal(signal.SIGUSR1, interrupt)
    sender = threading.Thread(target=send, daemon=True)
    try:
        sender.start()
        call()
    except KeyboardInterrupt:
        return time.process_time() - at[0]
    raise AssertionError(f"the call ended by itself {time.process_time() - at[0]:.2f} s after the signal")


def unit_s():
    """Return the CPU time of a fixed piece of work, the lowest of three runs."""
    durations = []
    for _ in range(3):
        started = time.process_time()
        np.sort(np.random.default_rng(0).random(1_000_000))
        sum(i * i for i in range(1_500_000))
        durations.append(time.process_time() - started)
    return min(durations)


def main():
    groups = {"sampling": sampling_calls, "neighbors": neighbor_calls, "trees": tree_calls}
    groups |= {"forests and whitening": lambda: itertools.chain(forest_calls(), whitening_calls())}
    unit = unit_s()
    for name, *call in groups[sys.argv[1]]():
        print(f"{interrupted_s(*call) / unit:.3f} {name}", flush=True)


if __name__ == "__main__":
    main()
