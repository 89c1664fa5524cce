"""Measurements of the LOCUST paper: accuracy along a stream, at equal time, learning rates, and bursty workloads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.microclusters import MicroClusterClassifier
from anystream.reproduce.data import load
from anystream.runtime.clock import SimulatedClock
from anystream.runtime.contracts import AnsweredRecords
from anystream.runtime.engine import Engine
from anystream.runtime.queue import RecordQueue
from anystream.runtime.replay import Replay, at_times
from anystream.runtime.schedulers import WaitingTime
from anystream.runtime.simulation import MachineCost, NullSink, RepeatingSource, SimulatedModel
from anystream.runtime.workloads import workload_a, workload_b
from anystream.streams import RandomRBF
from anystream.subspace import LocustClassifier

BLOCK = 20_000
"""Points per block, as printed; a block is tested before it is learned."""

ALL = 10**6
"""Steps: more than there are clusters or samples."""

CAPACITY_PER_S = 4000.0
"""Records per second at one sample on the paper's machine."""

TRAFFIC = 5000
"""Records that arrive in a workload, again and again."""

_SAMPLES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
Stream = tuple[NDArray[np.float64], NDArray[np.int64]]


def read_stream(data: str, max_records: int | None) -> Stream:
    """Return the first records of a data set in file order, or of a generated stream as wide as covtype."""
    if data == "generated":
        n_records = max_records or 220_000
        X, y = RandomRBF(n_features=54, n_classes=7, seed=0, n_records=n_records).take(n_records)
        return X, y
    found = load(data)
    return np.ascontiguousarray(found.X[:max_records], dtype=np.float64), found.y[:max_records]


def make_model(name: str) -> Any:
    """Return an unfitted classifier: "default", "published", "published, <bias>", or "clusters, <number>"."""
    kind, _, option = name.partition(", ")
    if kind == "clusters":
        return MicroClusterClassifier(n_clusters=int(option), n_jobs=1)
    if kind == "default":
        return LocustClassifier(max_samples=ALL, n_jobs=1)
    changes = {"bias": option} if option else {}
    return LocustClassifier.paper(max_samples=ALL, n_jobs=1, **changes)


def measure_stream(
    data: str, max_records: int | None, test_every: int, model: str, steps: Sequence[int]
) -> dict[str, Any]:
    """Return the accuracy on each block after each number of steps, each block before it is learned."""
    X, y = read_stream(data, max_records)
    return _run_blocks(make_model(model), X, y, test_every, steps)


def _run_blocks(
    model: Any, X: NDArray[np.float64], y: NDArray[np.int64], every: int, steps: Sequence[int]
) -> dict[str, Any]:
    classes, ends = np.unique(y), []
    shares: dict[str, list[float]] = {str(n): [] for n in steps}
    for start in range(0, len(y), BLOCK):
        block = slice(start, min(start + BLOCK, len(y)))
        if start > 0:
            tested = np.arange(block.start, block.stop, every)
            ends.append(block.stop)
            for n, labels in zip(steps, model.staged_predict(X[tested], stages=list(steps)), strict=True):
                shares[str(n)].append(float((labels == y[tested]).mean()))
        model.partial_fit(X[block], y[block], classes=classes)
    return {"ends": ends, "accuracy": shares}


def measure_equal_time(
    data: str, max_records: int | None, test_every: int, model: str, n_clusters: int
) -> dict[str, Any]:
    """Return the accuracy of LOCUST and of micro-clusters along a stream, at the same processor time per record.

    As in the paper, the number of samples is the largest whose time is below that of the micro-clusters.
    """
    X, y = read_stream(data, max_records)
    queries, past = X[-2000:], slice(max(0, len(X) - 42_000), len(X) - 2000)
    rival = make_model(f"clusters, {n_clusters}").partial_fit(X[past], y[past])
    locust = make_model(model).partial_fit(X[past], y[past])
    allowed_us = _time_us(rival, queries, ALL)
    timed = {n: _time_us(locust, queries, n) for n in _SAMPLES}
    samples = max((n for n, used_us in timed.items() if used_us <= allowed_us), default=1)
    ours = _run_blocks(make_model(model), X, y, test_every, [samples])
    theirs = _run_blocks(make_model(f"clusters, {n_clusters}"), X, y, test_every, [ALL])
    return {
        "samples": samples,
        "locust_us": timed[samples],
        "clusters_us": allowed_us,
        "ends": ours["ends"],
        "locust": ours["accuracy"][str(samples)],
        "clusters": theirs["accuracy"][str(ALL)],
    }


def _time_us(model: Any, queries: NDArray[np.float64], budget: int) -> float:
    """Return processor time per record in microseconds, the minimum of five runs."""
    runs = []
    for _ in range(5):
        started = time.process_time()
        model.classify(queries, budget=budget)
        runs.append(time.process_time() - started)
    return 1e6 * min(runs) / len(queries)


def measure_learning_rate(data: str, max_records: int | None, model: str) -> dict[str, float]:
    """Return points learned per second of processor time, the best of four parts of the stream."""
    X, y = read_stream(data, max_records)
    learner, classes = make_model(model), np.unique(y)
    learner.partial_fit(X[:BLOCK], y[:BLOCK], classes=classes)
    rates = []
    for part in np.array_split(np.arange(BLOCK, len(y)), 4):
        started = time.process_time()
        learner.partial_fit(X[part], y[part])
        rates.append(len(part) / max(time.process_time() - started, 1e-9))
    return {"per_s": float(max(rates))}


class _Recorder(NullSink):
    """Sink that keeps number, label, steps, waiting time and time of each answer."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.clock = clock
        self.parts: list[tuple[Any, ...]] = []

    def write(self, answers: AnsweredRecords) -> None:
        """Keep the answers."""
        now = np.full(len(answers.label), self.clock.now())
        self.parts.append((answers.offset, answers.label, answers.steps, answers.waited_s, now))

    def columns(self) -> list[NDArray[Any]]:
        """Return the kept columns, in the order of the records."""
        columns = [np.concatenate(column) for column in zip(*self.parts, strict=True)]
        order = np.argsort(columns[0])
        return [column[order] for column in columns]


def measure_workload(
    data: str,
    max_records: int | None,
    workload: str,
    target_s: float,
    duration_s: float,
    max_steps: int,
    speed: float,
    seed: int,
) -> dict[str, Any]:
    """Return rates, waiting times and accuracy of LOCUST under a workload, in simulated time.

    The simulated machine classifies 4000 records per second at one sample, as the paper's, times `speed`; the rates of
    the traffic are multiplied by it too, so that the queue in seconds is the same. The model is that of the first two
    thirds of the records; the next 5000 are the traffic, repeated as often as needed. Accuracy is that of the 5000
    records (times `speed`) that arrived last before each mark, with the samples that the rule allowed and with
    `max_steps` samples.
    """
    X, y = read_stream(data, max_records)
    n_learned = 2 * len(y) // 3
    model = LocustClassifier.paper(max_samples=ALL, n_jobs=1)
    model.partial_fit(X[:n_learned], y[:n_learned], classes=np.unique(y))
    traffic, labels = X[n_learned:][:TRAFFIC], y[n_learned:][:TRAFFIC]
    draw = workload_a if workload == "A" else workload_b
    rates = {"base_rate": 400.0, "peak_rate": 12_000.0} if workload == "A" else {"min_rate": 0.0, "max_rate": 6000.0}
    rates = {name: speed * rate for name, rate in rates.items()}
    arrivals = draw(duration_s, seed=seed, **rates)
    clock = SimulatedClock()
    sink = _Recorder(clock)
    cost = MachineCost(call_s=1e-6, record_s=1e-9, step_s=1.0 / (speed * CAPACITY_PER_S))
    Engine(
        SimulatedModel(model, clock, cost),
        Replay(RepeatingSource(traffic, None, len(arrivals)), at_times(arrivals), clock),
        sink,
        scheduler=WaitingTime(target_s, max_steps=max_steps),
        queue=RecordQueue(10**8, "block"),
        clock=clock,
        batch_s=0.1,
    ).run()
    number, found, steps, waited_s, at_s = sink.columns()
    truth = labels[number % len(labels)]
    edges = np.arange(0.0, max(float(at_s.max()), duration_s) + 10.0, 10.0)
    n_in, _ = np.histogram(arrivals, edges)
    n_out, _ = np.histogram(at_s, edges)
    bins = np.digitize(arrivals, edges) - 1
    mean_wait = [float(waited_s[bins == b].mean()) if (bins == b).any() else 0.0 for b in range(len(edges) - 1)]
    mean_steps = [float(steps[bins == b].mean()) if (bins == b).any() else 0.0 for b in range(len(edges) - 1)]
    marks = [round(share * (len(arrivals) - 1)) for share in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)]
    right = found == truth
    best = model.classify(traffic, budget=max_steps).labels == labels
    windows = [slice(max(0, mark - round(5000 * speed)), mark) for mark in marks]
    return {
        "time_s": edges[1:].tolist(),
        "input_per_s": (n_in / 10.0).tolist(),
        "output_per_s": (n_out / 10.0).tolist(),
        "waited_s": mean_wait,
        "steps": mean_steps,
        "n_in": len(arrivals),
        "n_out": len(number),
        "marks_s": [float(arrivals[mark]) for mark in marks],
        "accuracy": [float(right[window].mean()) for window in windows],
        "optimistic": [float(best[number[window] % len(labels)].mean()) for window in windows],
        "steps_spread": float(np.std(steps) / max(np.mean(steps), 1e-9)),
    }
