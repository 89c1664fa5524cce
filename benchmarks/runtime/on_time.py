"""On-time accuracy under load: ours against classifiers that know no budget, behind the same queue and deadline.

Records arrive at 0.5 to 10 times the capacity of the slowest peer. An answer counts if it is right and in time; every
arrival counts, answered or not. A peer answers at its natural cost, in batches like ours, with the faster of one thread
and all, and with the better of two policies: `block` (everyone waits) and `shed_oldest` (the longest-waiting are given up).

    python -m benchmarks.runtime.on_time                                   # pendigits, real time, two seconds a run
    python -m benchmarks.runtime.on_time --datasets pendigits,letter --seconds 10 --plot on-time.png
    python -m benchmarks.runtime.on_time --slowest RandomForest            # a harder load 1
    python -m benchmarks.runtime.on_time --processor-time                  # on a machine that others use, too

With ``--processor-time`` the clock counts the processor time of this process alone, and one thread answers: waiting for
the next record takes no time, and what others do on the machine does not show.
"""

import argparse
import os
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from anystream.anytime.budget import Budget
from anystream.cli.durations import parse_duration
from anystream.cli.models import make_model
from anystream.runtime import (
    Clock,
    DeadlineShare,
    Engine,
    FixedBudget,
    GainTable,
    ItemQueue,
    MarginalGain,
    RealClock,
    Replay,
    Summary,
    WaitingTime,
    at_times,
)
from anystream.runtime.simulation import EndlessRows, Nowhere
from anystream.streams import DatasetNotFound, load_dataset
from benchmarks.runtime.peers import all_peers, capacity
from benchmarks.table import machine, print_table

LOADS = (0.5, 1.0, 2.0, 5.0, 10.0)
SEED = 0
_LENIENT = 50.0
OURS = {
    "bayes-tree": ["metric=auto", "root_model=auto"],
    "neighbors": ["search=inverted"],
    "locust": [],
}
"""Our models and their settings; "auto" is chosen by the model on its training data."""


class ProcessorClock:
    """The processor time of this process; sleep is time that passes at once."""

    def __init__(self) -> None:
        self._slept = -time.process_time()

    def now(self) -> float:
        return time.process_time() + self._slept

    def sleep(self, seconds: float) -> None:
        self._slept += max(seconds, 0.0)


class OnClock:
    """A model whose deadlines are on another clock than that of native code, which looks at the real time.

    On a busy machine that is later by far; the steps of a batch are bounded all the same.
    """

    def __init__(self, model: Any, clock: Clock) -> None:
        self._model, self._clock = model, clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def classify(self, X: Any, *, budget: Budget) -> Any:
        seconds = None if budget.until is None else _LENIENT * max(budget.until - self._clock.now(), 0.0)
        return self._model.classify(X, budget=Budget(steps=budget.steps, seconds=seconds, stop=budget.stop))


@dataclass
class Result:
    """What became of one stream."""

    method: str
    load: float
    summary: Summary

    @property
    def on_time_accuracy(self) -> float:
        return self.summary.right_on_time / max(self.summary.labelled, 1)

    def cells(self) -> str:
        found = self.summary
        missed = 1.0 - found.on_time / max(found.labelled, 1)
        waits = "/".join(f"{1e3 * found.wait_quantile(q):.0f}" for q in (0.5, 0.99)) if found.answered else "-"
        return f"{100 * self.on_time_accuracy:.2f} ({waits} ms, {missed:.1%})"


def run(model: Any, scheduler: Any, overflow: str, times: Any, X: Any, y: Any, options: Any) -> Summary:
    """One stream through the engine."""
    clock: Clock = ProcessorClock() if options.processor_time else RealClock()
    within = parse_duration(options.within)
    source = Replay(EndlessRows(X, y, len(times)), at_times(times), clock)
    engine = Engine(
        OnClock(model, clock) if options.processor_time else model,
        source,
        Nowhere(),
        scheduler=scheduler,
        within=within,
        queue=ItemQueue(options.queue, overflow),  # type: ignore[arg-type]
        clock=clock,
    )
    # a peer that blocks would work off its backlog for minutes: what comes out after the end is late in any case
    started: list[float] = []

    def watch(turn: Any) -> None:
        if not started:
            started.append(turn.now)
        if turn.now > started[0] + times[-1] + 4 * within:
            engine.stop()

    engine.watch(watch)
    summary = engine.run()
    summary.labelled = len(times)  # records that never got in count as well
    return summary


def schedulers(model: Any, table: GainTable, within: float) -> dict[str, Any]:
    """The three rules, new for each run."""
    return {
        "DeadlineShare": DeadlineShare(most=model.budget),
        "MarginalGain": MarginalGain(table),
        "WaitingTime": WaitingTime(within / 2, most=model.budget),
    }


def split(name: str) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """At most 20,000 records to train on, and at most 10,000 others."""
    data = load_dataset(name)
    order = np.random.default_rng(SEED).permutation(len(data.y))
    X, y = np.asarray(data.X, dtype=np.float64)[order], data.y[order]
    n = min(len(y) * 2 // 3, 20_000)
    return (X[:n], y[:n]), (X[n : n + 10_000], y[n : n + 10_000])


def fit_ours(name: str, X: Any, y: Any, one_core: bool) -> tuple[Any, GainTable]:
    """A model, and what more steps bring by a twin that a tenth of the training data was kept from."""
    print(f"training {name}", file=sys.stderr)
    settings = [*OURS[name], "n_jobs=1"] if one_core else OURS[name]
    held = len(y) * 9 // 10
    twin = make_model(name, settings).fit(X[:held], y[:held])
    return make_model(name, settings).fit(X, y), GainTable.measure(twin, X[held:], y[held:])


def one_dataset(name: str, options: Any) -> list[Result]:
    train, test = split(name)
    one_core, within = options.processor_time, parse_duration(options.within)
    only = options.peers.split(",") if options.peers else None
    peers = all_peers(*train, test[0], seed=SEED, only=only, one_core=one_core)
    ours = {ours: fit_ours(ours, *train, one_core) for ours in options.models.split(",")}
    timer = time.process_time if one_core else time.perf_counter
    rates = {peer: capacity(found, test[0], timer) for peer, found in peers.items()}
    at_rest = {peer: float((peers[peer].classify(test[0], budget=None).labels == test[1]).mean()) for peer in peers} | {
        model: float((found.predict(test[0]) == test[1]).mean()) for model, (found, _) in ours.items()
    }
    results: list[Result] = []
    for slowest in options.slowest.split(",") if options.slowest else [min(rates, key=lambda peer: rates[peer])]:
        results = []
        for load in options.loads:
            print(f"load {load:g} of {slowest}", file=sys.stderr)
            n = int(load * rates[slowest] * options.seconds)
            times = np.sort(np.random.default_rng(SEED).uniform(0.0, options.seconds, n))
            for model_name, (model, table) in ours.items():
                for rule, scheduler in schedulers(model, table, within).items():
                    summary = run(model, scheduler, "answer_now", times, *test, options)
                    results.append(Result(f"{model_name}, {rule}", load, summary))
            for peer_name, peer in peers.items():
                tries = [
                    Result(peer_name, load, run(peer, FixedBudget(1), overflow, times, *test, options))
                    for overflow in ("block", "shed_oldest")
                ]
                results.append(max(tries, key=lambda result: result.on_time_accuracy))
        _print(name, results, options, rates, slowest, at_rest, len(train[1]), len(test[1]))
    return results


def _print(name: str, results: list[Result], options: Any, rates: Any, slowest: str, at_rest: Any, *n: int) -> None:
    found = {(result.method, result.load): result for result in results}
    methods = list(dict.fromkeys(result.method for result in results))
    best = {load: max(result.on_time_accuracy for result in results if result.load == load) for load in options.loads}
    rows = []
    for method in methods:
        at = {load: found[method, load] for load in options.loads}
        cells = [at[load].cells() + (" *" if at[load].on_time_accuracy == best[load] else "") for load in options.loads]
        rows.append([method, f"{100 * at_rest[method.partition(',')[0]]:.2f}", *cells])
    print_table(
        f"{name}: on-time accuracy, % of all arrivals (waiting p50/p99; late or never answered); * the best of a load",
        ["method", "without hurry", *(f"{load:g} x" for load in options.loads)],
        rows,
        [
            f"{n[0]} training and {n[1]} test records; due within {options.within}; queue {options.queue}; "
            f"{options.seconds:g} s a run; seed {SEED}",
            f"load 1 is {rates[slowest]:,.0f} records/s, the capacity of {slowest}; "
            + ", ".join(f"{peer} {rate:,.0f}" for peer, rate in rates.items()),
            f"{'processor time, one thread' if options.processor_time else 'real time'}; {machine()}, "
            f"load average {os.getloadavg()[0]:.1f}",
        ],
    )


def _draw(found: dict[str, list[Result]], loads: list[float], path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7 * len(found), 5), layout="constrained")
    for axes, (name, results) in zip(np.atleast_1d(figure.subplots(1, len(found))), found.items(), strict=True):
        for method in dict.fromkeys(result.method for result in results):
            if "," in method and not method.endswith("DeadlineShare"):
                continue  # one rule is enough to see; the table has them all
            shares = [100 * result.on_time_accuracy for result in results if result.method == method]
            axes.plot(loads, shares, marker="o", label=method, linestyle="-" if "," in method else "--")
        axes.set(title=name, xlabel="load, times the capacity of the slowest peer", ylabel="on-time accuracy, %")
        axes.set_xscale("log")
        axes.set_xticks(loads, [f"{load:g}" for load in loads])
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="pendigits", help="names with commas between them")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run")
    parser.add_argument("--within", default="50ms")
    parser.add_argument("--queue", type=int, default=2_000)
    parser.add_argument("--peers", help="only these, as names with commas between them")
    parser.add_argument("--models", default=",".join(OURS), help="which of ours")
    parser.add_argument("--slowest", help="load 1 is the capacity of this peer instead; several give several tables")
    parser.add_argument("--loads", type=lambda text: [float(load) for load in text.split(",")], default=list(LOADS))
    parser.add_argument("--processor-time", action="store_true", help="on the processor time of one thread")
    parser.add_argument("--plot", help="also draw into this file")
    options = parser.parse_args()
    found = {}
    for name in options.datasets.split(","):
        try:
            found[name] = one_dataset(name, options)
        except (DatasetNotFound, ValueError) as error:
            print(f"{name} is skipped: {error}", file=sys.stderr)
    if options.plot and found:
        _draw(found, options.loads, options.plot)


if __name__ == "__main__":
    main()
