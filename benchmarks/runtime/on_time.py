"""On-time accuracy under load: anystream against classifiers without a budget, with the same queue and deadline.

Records arrive at 0.5 to 10 times the capacity of the slowest peer. An answer counts if it is right and on time; every
arrival counts, answered or not. A peer classifies at its natural cost, in batches of the same size as ours, with the
faster of one thread and all, and with the better of two policies: `block` (all records wait) and `shed_oldest` (the
oldest are dropped).

    python -m benchmarks.runtime.on_time                                   # pendigits, real time
    python -m benchmarks.runtime.on_time --all --plot on-time.png          # three data sets: some twelve minutes
    python -m benchmarks.runtime.on_time --slowest RandomForest            # a higher load 1
    python -m benchmarks.runtime.on_time --processor-time                  # on a machine with other work on it

Every cell is the mean over several streams, followed by the deviation among them. Streams differ in their arrivals and
in the order of the records; models are fitted once. The policy of a peer at a load is chosen on the first stream.

With ``--processor-time`` the clock counts the processor time of this process alone, and one thread classifies: waiting
for the next record takes no time, and other work on the machine has no influence.
"""

import argparse
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from anystream import AnytimeForestClassifier
from anystream.cli.durations import parse_duration
from anystream.cli.models import make_model
from anystream.compare.processor_clock import OnClock, ProcessorClock
from anystream.runtime import (
    Clock,
    DeadlineShare,
    Engine,
    FixedBudget,
    GainTable,
    MarginalGain,
    NullSink,
    RealClock,
    RecordQueue,
    RepeatingSource,
    Replay,
    Summary,
    WaitingTime,
    at_times,
)
from anystream.streams import DatasetNotFoundError, load_dataset
from benchmarks.runtime.peers import all_peers, capacity, start_fitting
from benchmarks.table import machine, print_table
from benchmarks.timing import StolenTime

LOADS = (0.5, 1.0, 2.0, 5.0, 10.0)
SEED = 0
ALL = "pendigits,letter,covtype"
OURS = {
    "bayes-tree": ["metric=auto", "root_model=auto"],
    "neighbors": ["search=inverted"],
    "locust": [],
}
"""Our models and their settings; the model chooses "auto" on its training data."""
IMPORTED = {"imported RandomForest": "RandomForest", "imported LightGBM": "LightGBM"}
"""Our models that are imported from a peer, which runs beside them."""


class StreamOver(Exception):  # noqa: N818  not an error
    """The stream is over, and every record that still waits is late."""


@dataclass
class Result:
    """Summaries of the streams of one load."""

    method: str
    load: float
    summaries: list[Summary]

    @property
    def shares(self) -> Any:
        """On-time accuracy of each stream."""
        return np.array([found.right_on_time / max(found.labelled, 1) for found in self.summaries])

    @property
    def on_time_accuracy(self) -> float:
        return float(self.shares.mean())

    @property
    def deviation(self) -> float:
        return float(self.shares.std(ddof=1)) if len(self.summaries) > 1 else 0.0

    def format_cell(self) -> str:
        missed = 1.0 - np.mean([found.on_time / max(found.labelled, 1) for found in self.summaries])
        answered = [found for found in self.summaries if found.answered]
        waits = "/".join(
            f"{1e3 * np.mean([found.wait_quantile(q) for found in answered]):.0f}" if answered else "-"
            for q in (0.5, 0.99)
        )
        return f"{100 * self.on_time_accuracy:.2f} ± {100 * self.deviation:.2f} ({waits} ms, {missed:.1%})"


def run(model: Any, scheduler: Any, overflow: str, times: Any, X: Any, y: Any, options: Any) -> Summary:
    """Run one stream through the engine."""
    clock: Clock = ProcessorClock() if options.processor_time else RealClock()
    within_s = parse_duration(options.within)
    source = Replay(RepeatingSource(X, y, len(times)), at_times(times), clock)
    engine = Engine(
        OnClock(model, clock) if options.processor_time else model,
        source,
        NullSink(),
        scheduler=scheduler,
        within_s=within_s,
        queue=RecordQueue(options.queue, overflow),  # type: ignore[arg-type]
        clock=clock,
    )
    started: list[float] = []

    def watch(turn: Any) -> None:
        if not started:
            started.append(turn.now)
        if turn.now > started[0] + times[-1] + 4 * within_s:
            raise StreamOver  # a peer that blocks would classify its backlog for minutes, all of it too late

    engine.watch(watch)
    with suppress(StreamOver):
        engine.run()
    engine.summary.labelled = len(times)  # records that were never taken count as well
    return engine.summary


def make_schedulers(model: Any, table: GainTable | None, within_s: float) -> dict[str, Any]:
    """Return the schedulers by name, new for each run; imported models have no gain table and run under one of them."""
    share = {"DeadlineShare": DeadlineShare(max_steps=model.budget)}
    if table is None:
        return share
    return share | {
        "MarginalGain": MarginalGain(table),
        "WaitingTime": WaitingTime(within_s / 2, max_steps=model.budget),
    }


def split(name: str) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return at most 20,000 records of a data set for training, and at most 10,000 others."""
    data = load_dataset(name)
    order = np.random.default_rng(SEED).permutation(len(data.y))
    X, y = np.asarray(data.X, dtype=np.float64)[order], data.y[order]
    n = min(len(y) * 2 // 3, 20_000)
    return (X[:n], y[:n]), (X[n : n + 10_000], y[n : n + 10_000])


def fit_ours(name: str, X: Any, y: Any, one_core: bool) -> tuple[Any, GainTable]:
    """Return a model of all training data, and the gain table of a model of nine tenths of it on the last tenth."""
    settings = [*OURS[name], "n_jobs=1"] if one_core else OURS[name]
    held = len(y) * 9 // 10
    twin = make_model(name, settings).fit(X[:held], y[:held])
    return make_model(name, settings).fit(X, y), GainTable.measure(twin, X[held:], y[held:])


def draw_streams(rate: float, options: Any, X: Any, y: Any) -> list[tuple[Any, Any, Any]]:
    """Return random arrivals, records in a random order and their labels, for each seed."""
    streams = []
    for seed in range(options.seeds):
        dice = np.random.default_rng(seed)
        times = np.sort(dice.uniform(0.0, options.seconds, max(round(rate * options.seconds), 1)))
        order = dice.permutation(len(y))
        streams.append((times, X[order], y[order]))
    return streams


def measure_dataset(name: str, options: Any) -> dict[str, list[Result]]:
    """Return the results of every method at every load, by the peer whose capacity is load 1."""
    train, test = split(name)
    one_core, within_s = options.processor_time, parse_duration(options.within)
    only = options.peers.split(",") if options.peers else None
    print(f"{name}: fitting the models", file=sys.stderr)
    fitting = start_fitting(*train, seed=SEED, only=only)
    wanted = options.models.split(",")
    ours: dict[str, tuple[Any, GainTable | None]] = {
        ours: fit_ours(ours, *train, one_core) for ours in wanted if ours not in IMPORTED
    }
    peers = all_peers(fitting, np.unique(train[1]), test[0], one_core=one_core)
    for imported in wanted:
        if imported in IMPORTED and IMPORTED[imported] in peers:
            model = peers[IMPORTED[imported]].model
            ours[imported] = (AnytimeForestClassifier.from_model(model, n_jobs=1 if one_core else None), None)
    timer = time.process_time if one_core else time.perf_counter
    rates = {peer: capacity(found, test[0], timer) for peer, found in peers.items()}
    unhurried = {
        peer: float((peers[peer].classify(test[0], budget=None).labels == test[1]).mean()) for peer in peers
    } | {model: float((found.predict(test[0]) == test[1]).mean()) for model, (found, _) in ours.items()}
    tables: dict[str, list[Result]] = {}
    for slowest in options.slowest.split(",") if options.slowest else [min(rates, key=lambda peer: rates[peer])]:
        results = tables[slowest] = []
        stolen = StolenTime()
        shares = []
        for load in options.loads:
            print(f"{name}, load {load:g} of {slowest}", file=sys.stderr)
            given = draw_streams(load * rates[slowest], options, *test)
            for model_name, (model, table) in ours.items():
                for rule in make_schedulers(model, table, within_s):
                    found = [
                        run(model, make_schedulers(model, table, within_s)[rule], "answer_now", *stream, options)
                        for stream in given
                    ]
                    results.append(Result(f"{model_name}, {rule}", load, found))
            for peer_name, peer in peers.items():
                tries = {
                    overflow: [run(peer, FixedBudget(1), overflow, *given[0], options)]
                    for overflow in ("block", "shed_oldest")
                }
                overflow, found = max(tries.items(), key=lambda item: item[1][0].right_on_time)
                found += [run(peer, FixedBudget(1), overflow, *stream, options) for stream in given[1:]]
                results.append(Result(peer_name, load, found))
            shares.append(f"{load:g} x {stolen.share():.1%}")
        _print(name, results, options, rates, slowest, unhurried, ", ".join(shares), len(train[1]), len(test[1]))
    return tables


def _print(
    name: str, results: list[Result], options: Any, rates: Any, slowest: str, unhurried: Any, stolen: str, *n: int
) -> None:
    found = {(result.method, result.load): result for result in results}
    methods = list(dict.fromkeys(result.method for result in results))
    best = {load: max(result.on_time_accuracy for result in results if result.load == load) for load in options.loads}
    rows = []
    for method in methods:
        at = {load: found[method, load] for load in options.loads}
        cells = [
            at[load].format_cell() + (" *" if at[load].on_time_accuracy == best[load] else "") for load in options.loads
        ]
        rows.append([method, f"{100 * unhurried[method.partition(',')[0]]:.2f}", *cells])
    print_table(
        f"{name}: on-time accuracy, % of all arrivals ± deviation (waiting p50/p99; late or not answered); "
        "* the best of a load",
        ["method", "without deadlines", *(f"{load:g} x" for load in options.loads)],
        rows,
        [
            f"{n[0]} training and {n[1]} test records; due within {options.within}; queue {options.queue}; "
            f"{options.seconds:g} s a stream, {options.seeds} streams (seeds 0 to {options.seeds - 1}); "
            f"models and split: seed {SEED}",
            f"load 1 is {rates[slowest]:,.0f} records/s, the capacity of {slowest}; "
            + ", ".join(f"{peer} {rate:,.0f}" for peer, rate in rates.items()),
            f"{'processor time, one thread' if options.processor_time else 'real time'}; {machine()}, "
            f"load average {os.getloadavg()[0]:.1f}; time that the host gave to other machines: {stolen}",
        ],
    )


def _draw(found: dict[str, dict[str, list[Result]]], loads: list[float], path: str) -> None:
    from matplotlib.figure import Figure

    panels = [
        (f"{name}; load 1: capacity of {peer}", results) for name, by in found.items() for peer, results in by.items()
    ]
    figure = Figure(figsize=(5 * len(panels) + 2, 4), layout="constrained")
    drawn = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
    for axes, (title, results) in zip(drawn, panels, strict=True):
        for method in dict.fromkeys(result.method for result in results):
            if "," in method and not method.endswith("DeadlineShare"):
                continue  # one scheduler is enough in a picture; the table has all of them
            mine = [result for result in results if result.method == method]
            axes.errorbar(
                loads,
                [100 * result.on_time_accuracy for result in mine],
                [100 * result.deviation for result in mine],
                marker="o",
                capsize=2,
                label=method,
                linestyle="-" if "," in method else "--",
            )
        axes.set(title=title, xlabel="load")
        axes.set_xscale("log")
        axes.set_xticks(loads, [f"{load:g}" for load in loads])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    drawn[0].set_ylabel("right and on time, % of all arrivals")
    figure.legend(*drawn[0].get_legend_handles_labels(), loc="outside right center")
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help=f"use the data sets {ALL} instead of one")
    parser.add_argument("--datasets", help="names of data sets, separated by commas; default: pendigits")
    parser.add_argument("--seconds", type=float, default=0.4, help="length of each stream")
    parser.add_argument("--seeds", type=int, default=3, help="number of streams per load")
    parser.add_argument("--within", default="50ms", help="time from arrival to the deadline")
    parser.add_argument("--queue", type=int, default=2_000, help="capacity of the queue, in records")
    parser.add_argument("--peers", help="names of the peers to run, separated by commas; default: all")
    parser.add_argument(
        "--models", default=",".join([*OURS, *IMPORTED]), help="names of our models to run, separated by commas"
    )
    parser.add_argument(
        "--slowest", help="peer whose capacity is load 1; several give several tables; default: the slowest"
    )
    parser.add_argument("--loads", type=lambda text: [float(load) for load in text.split(",")], default=list(LOADS))
    parser.add_argument("--processor-time", action="store_true", help="measure in the processor time of one thread")
    parser.add_argument("--plot", help="draw the results into this file")
    options = parser.parse_args()
    found = {}
    for name in (options.datasets or (ALL if options.all else "pendigits")).split(","):
        try:
            found[name] = measure_dataset(name, options)
        except (DatasetNotFoundError, ValueError) as error:
            print(f"{name} is skipped: {error}", file=sys.stderr)
    if options.plot and found:
        _draw(found, options.loads, options.plot)


if __name__ == "__main__":
    main()
