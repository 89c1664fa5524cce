"""Overload on real brokers: on-time share, steps per answer and lag, second by second, at five times the capacity.

    PYTHONPATH=tests python -m benchmarks.broker_overload redis kafka nats mqtt
    PYTHONPATH=tests python -m benchmarks.broker_overload kafka --capacity least --plot overload.png

`make test-brokers` sets up what it needs. Records come at half the capacity, then at five times, then at half again. The
capacity is that of a classifier whose records and steps take fixed times, which are slept: the load of the machine has
little influence. ``--capacity full`` is the rate at which every record can have all its steps; ``least`` is the rate at
which it can have none beyond the least answer. Deadlines count from the time at which a record was sent, answers are
written to the same broker, and the lag is everything that should have been sent by then and has no answer.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from anystream import BayesTreeClassifier, Budget
from anystream.connectors.brokers import open_broker_sink, open_broker_source
from anystream.connectors.schema import Column, Schema
from anystream.plotting import new_figure, style_axes
from anystream.runtime import DeadlineShare, Engine, RecordQueue
from benchmarks.table import print_table
from brokers.outside import OUTSIDE
from brokers.program import finish, fork
from brokers.servers import SERVERS, UnavailableError

RECORD_S = 0.0008
STEP_S = 0.0004
MAX_STEPS = 48
WITHIN_S = 0.25
PHASES = ((4.0, 0.5), (10.0, 5.0), (6.0, 0.5))  # seconds, and the load as a multiple of the capacity
START_S = 5.0  # for connecting and warming up, before the first record
OPTIONS = {"redis": "group=g", "kafka": "group=g", "nats": "durable=g", "mqtt": "client=one"}
SCHEMA = Schema((Column("a"), Column("b"), Column("c")), key="id", time="sent")


class FixedCost:
    """A classifier whose records and steps take fixed times, whatever the machine."""

    def __init__(self, model):
        self._model = model

    def __getattr__(self, name):
        return getattr(self._model, name)

    def classify(self, X, budget):
        left_s = np.inf if budget.until is None else budget.until - time.monotonic()
        if left_s <= 0.0:  # no record is reached, which costs nothing
            return self._model.classify(X, budget=budget)
        affordable = max((left_s / len(X) - RECORD_S) / STEP_S, 0.0)
        answer = self._model.classify(X, budget=Budget(steps=int(min(budget.steps, affordable))))
        time.sleep(len(X) * RECORD_S + int(answer.steps.sum()) * STEP_S)
        return answer


def make_points(n, seed):
    dice = np.random.default_rng(seed)
    labels = dice.integers(3, size=n)
    return dice.normal(np.outer(labels, [1.0, 0.5, -0.5])), labels


def plan_times(capacity):
    """Seconds after the start at which records are sent."""
    times, began = [], 0.0
    for seconds, load in PHASES:
        times.append(began + np.arange(int(seconds * load * capacity)) / (load * capacity))
        began += seconds
    return np.concatenate(times)


def produce(server, began, times):
    outside = OUTSIDE[server.scheme](server)
    points, _ = make_points(len(times), seed=1)

    def messages():
        for number, (at, point) in enumerate(zip(times, points.tolist(), strict=True)):
            time.sleep(max(began + at - time.time(), 0.0))
            value = {"id": f"r{number}", "sent": time.time(), **dict(zip("abc", point, strict=True))}
            yield str(number).encode(), json.dumps(value).encode()

    outside.send("events", messages())
    if hasattr(outside, "flush"):
        outside.flush()


def prepare(server):
    outside = OUTSIDE[server.scheme](server)
    outside.create("events", "answers")
    if server.scheme == "mqtt":
        outside.subscribe_session("one", "events")


def measure(name, folder, model, times):
    """Counts of answers, of those on time and of steps at the end of each second."""
    log = folder / "log"
    server = SERVERS[name](folder / "server")
    try:
        assert finish(fork(log, prepare, server)) == 0, log.read_text()
        address = server.address("events") + f"?{OPTIONS[name]}&arrival=field&idle={START_S + 3:.0f}s"
        source = open_broker_source(address, SCHEMA)
        sink = open_broker_sink(server.address("answers"), source=source)
        began = time.time() + START_S
        offset_s = time.monotonic() - time.time()
        counts = {}

        def note(turn):
            found = turn.summary
            counts[int(turn.now - offset_s - began)] = (found.answered, found.on_time, found.steps, found.unreached)

        engine = Engine(
            FixedCost(model),
            source,
            sink,
            scheduler=DeadlineShare(max_steps=MAX_STEPS),
            within_s=WITHIN_S,
            queue=RecordQueue(1000, "answer_now"),
            observer=note,
        )
        child = fork(log, produce, server, began, times)
        summary = engine.run()
        assert finish(child) == 0, log.read_text()
        sink.close()
        source.close()
        assert summary.answered == len(times), f"{summary.answered} of {len(times)} records were answered"
        return counts
    finally:
        server.kill()


def to_rows(counts, times):
    """One row per second: records sent, share of answers on time, steps per answer, priors only, and the lag."""
    rows, before = [], (0, 0, 0, 0)
    for second in range(int(sum(seconds for seconds, _ in PHASES))):
        now = counts.get(second, before)
        answered, on_time, steps, unreached = (new - old for new, old in zip(now, before, strict=True))
        sent = int(np.count_nonzero((times >= second) & (times < second + 1)))
        lag = int(np.count_nonzero(times < second + 1)) - now[0]
        each = max(answered, 1)
        rows.append((second + 1, sent, answered, 100 * on_time / each, steps / each, 100 * unreached / each, lag))
        before = now
    return rows


def draw(found, path):
    figure = new_figure(8.0, 6.0)
    axes = figure.subplots(3, 1, sharex=True)
    for ax, column, text in zip(axes, (3, 4, 6), ("on time, %", "steps per answer", "lag, records"), strict=True):
        style_axes(ax)
        for name, rows in found.items():
            ax.plot([row[0] for row in rows], [row[column] for row in rows], label=name)
        ax.set_ylabel(text)
    axes[0].legend()
    axes[-1].set_xlabel("seconds")
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brokers", nargs="*", default=list(SERVERS))
    parser.add_argument("--capacity", choices=("full", "least"), default="full")
    parser.add_argument("--plot", help="file for a plot of all of them")
    options = parser.parse_args()
    X, y = make_points(3000, seed=0)
    model = BayesTreeClassifier().fit(X, y)
    all_steps = model.classify(make_points(1000, seed=2)[0], budget=Budget(steps=MAX_STEPS)).steps.mean()
    capacity = 1.0 / (RECORD_S + (all_steps * STEP_S if options.capacity == "full" else 0.0))
    times = plan_times(capacity)
    print(
        f"capacity ({options.capacity}) {capacity:.0f} records/s: {1e3 * RECORD_S} ms per record, {1e3 * STEP_S} ms per "
        f"step, {all_steps:.1f} steps for all of an answer; deadline {1e3 * WITHIN_S:.0f} ms after a record is sent"
    )
    found = {}
    for name in options.brokers:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found[name] = to_rows(measure(name, Path(folder), model, times), times)
            except UnavailableError as error:
                print(f"{name}: skipped: {error}")
                continue
        header = ("second", "sent", "answered", "on time, %", "steps per answer", "priors only, %", "lag")
        rows = [(*row[:3], f"{row[3]:.1f}", f"{row[4]:.1f}", f"{row[5]:.1f}", row[6]) for row in found[name]]
        print_table(name, header, rows)
    if options.plot:
        draw(found, options.plot)


if __name__ == "__main__":
    main()
