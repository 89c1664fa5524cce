"""On-time accuracy under load: ours against classifiers that know no budget, behind the same queue and deadline.

Records are replayed in real time at 0.5 to 10 times the capacity of the slowest peer. An answer counts if it is right and
in time; every arrival counts, answered or not. A peer answers at its natural cost, in batches like ours, with the better
of two policies: `block` (everyone waits) and `shed_oldest` (the longest-waiting are given up).

    python -m benchmarks.runtime.on_time                      # scikit-learn's peers, two seconds a run
    python -m benchmarks.runtime.on_time --river --seconds 10 # river's peers too, which take long to train
"""

import argparse
import os
import platform
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from anystream.anytime.answer import Answer
from anystream.cli.durations import format_duration, parse_duration
from anystream.cli.models import MODELS, make_model
from anystream.runtime import (
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

LOADS = (0.5, 1.0, 2.0, 5.0, 10.0)
SEED = 0


class Peer:
    """A classifier that answers a batch at its own cost, whatever the budget."""

    def __init__(self, model: Any, n_features: int) -> None:
        self.model = model
        self.classes_ = np.asarray(model.classes_)
        self.n_features_in_ = n_features

    def classify(self, X: Any, *, budget: Any) -> Answer:
        proba = self.model.predict_proba(X)
        ones = np.ones(len(X), dtype=np.int64)
        return Answer(self.classes_[proba.argmax(axis=1)], proba, ones, ones.astype(bool), 0.0)


class River:
    """One of river's classifiers under scikit-learn's names."""

    def __init__(self, model: Any, classes: Any) -> None:
        self.model = model
        self.classes_ = classes

    def fit(self, X: Any, y: Any) -> "River":
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(enumerate(row)), label)
        return self

    def predict_proba(self, X: Any) -> Any:
        proba = np.full((len(X), len(self.classes_)), 1e-12)
        for out, row in zip(proba, X.tolist(), strict=True):
            for label, share in self.model.predict_proba_one(dict(enumerate(row))).items():
                out[label] = share
        return proba


@dataclass
class Result:
    method: str
    load: float
    summary: Summary

    @property
    def on_time_accuracy(self) -> float:
        return self.summary.right_on_time / max(self.summary.labelled, 1)


def sklearn_peers(X: Any, y: Any, only: str | None) -> dict[str, Peer]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from threadpoolctl import threadpool_limits

    models = {
        "RandomForest": RandomForestClassifier(100, random_state=SEED),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=SEED),
        "k-NN": KNeighborsClassifier(5),
        "GaussianNB": GaussianNB(),
    }
    peers = {}
    for name, model in models.items():
        if only is not None and name not in only.split(","):
            continue
        print(f"training {name}", file=sys.stderr)
        with threadpool_limits(1):  # threads that spin for each other take minutes on a busy machine
            model.fit(X, y)
        peers[name] = Peer(model, X.shape[1])
    return peers


def river_peers(X: Any, y: Any) -> dict[str, Peer]:
    try:
        from river import forest, tree
    except ImportError:
        print("river is not installed: its classifiers are left out", file=sys.stderr)
        return {}
    classes = np.unique(y)
    models = {"river ARF": forest.ARFClassifier(seed=SEED), "river HoeffdingTree": tree.HoeffdingTreeClassifier()}
    return {name: Peer(River(model, classes).fit(X, y), X.shape[1]) for name, model in models.items()}


def capacity(peer: Peer, X: Any) -> float:
    """Records per second in batches of 256, the best of three."""
    rows = X[np.arange(256) % len(X)]
    best = np.inf
    for _ in range(3):
        began = time.perf_counter()
        peer.classify(rows, budget=None)
        best = min(best, time.perf_counter() - began)
    return 256 / best


def run(model: Any, scheduler: Any, overflow: str, times: Any, X: Any, y: Any, within: float, queue: int) -> Summary:
    clock = RealClock()
    source = Replay(EndlessRows(X, y, len(times)), at_times(times), clock)
    engine = Engine(
        model, source, Nowhere(), scheduler=scheduler, within=within, queue=ItemQueue(queue, overflow), clock=clock
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
    return {
        "DeadlineShare": DeadlineShare(most=model.budget),
        "MarginalGain": MarginalGain(table),
        "WaitingTime": WaitingTime(within / 2, most=model.budget),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="pendigits")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run")
    parser.add_argument("--within", default="50ms")
    parser.add_argument("--queue", type=int, default=2_000)
    parser.add_argument("--river", action="store_true", help="also river's ARF and Hoeffding tree")
    parser.add_argument("--peers", help="only these, as names with commas between them")
    parser.add_argument("--slowest", help="take the capacity of this peer instead of the slowest")
    parser.add_argument("--loads", default=",".join(map(str, LOADS)))
    parser.add_argument("--plot", help="also draw into this file")
    options = parser.parse_args()
    within = parse_duration(options.within)
    loads = [float(load) for load in options.loads.split(",")]

    try:
        data = load_dataset(options.dataset)
    except (DatasetNotFound, ValueError) as error:
        print(f"skipped: {error}", file=sys.stderr)
        return
    order = np.random.default_rng(SEED).permutation(len(data.y))
    X, y = np.asarray(data.X)[order], data.y[order]
    half = min(len(y) * 2 // 3, 20_000)
    train, test = (X[:half], y[:half]), (X[half : half + 10_000], y[half : half + 10_000])

    peers = sklearn_peers(*train, options.peers) | (river_peers(*train) if options.river else {})
    rates = {name: capacity(peer, test[0]) for name, peer in peers.items()}
    slowest = options.slowest or min(rates, key=lambda name: rates[name])
    print(
        f"{options.dataset}: {half} training and {len(test[1])} test records; answers due within {options.within}; "
        f"queue {options.queue}; {options.seconds:g} s a run; seed {SEED}; {platform.processor() or platform.machine()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    print("capacity, records/s: " + ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items()))
    print(f"load 1 is {rates[slowest]:,.0f} records/s, the capacity of {slowest}\n")

    results: list[Result] = []
    ours = {}
    for name in MODELS:
        model = make_model(name, [])
        model.fit(*train)
        held = slice(half * 9 // 10, half)
        twin = make_model(name, []).fit(X[: held.start], y[: held.start])
        ours[name] = model, GainTable.measure(twin, X[held], y[held])
    for load in loads:
        print(f"load {load:g}", file=sys.stderr)
        n = int(load * rates[slowest] * options.seconds)
        times = np.sort(np.random.default_rng(SEED).uniform(0.0, options.seconds, n))
        for name, (model, table) in ours.items():
            for rule, scheduler in schedulers(model, table, within).items():
                summary = run(model, scheduler, "answer_now", times, *test, within, options.queue)
                results.append(Result(f"{name}, {rule}", load, summary))
        for name, peer in peers.items():
            tries = [
                Result(name, load, run(peer, FixedBudget(1), overflow, times, *test, within, options.queue))
                for overflow in ("block", "shed_oldest")
            ]
            results.append(max(tries, key=lambda result: result.on_time_accuracy))
    _print(results, loads)
    if options.plot:
        _draw(results, loads, options.plot)


def _print(results: list[Result], loads: list[float]) -> None:
    methods = list(dict.fromkeys(result.method for result in results))
    width = max(map(len, methods))
    found = {(result.method, result.load): result for result in results}
    print("on-time accuracy, % of all arrivals (p99 waiting; share late or never answered)")
    print(" " * width + "".join(f"{f'{load:g} x':>26}" for load in loads))
    for method in methods:
        cells = []
        for load in loads:
            result = found[method, load]
            summary = result.summary
            missed = 1.0 - summary.on_time / max(summary.labelled, 1)
            wait = format_duration(summary.wait_quantile(0.99))
            cells.append(f"{100 * result.on_time_accuracy:5.1f} ({wait}; {missed:.1%})")
        print(f"{method:<{width}}" + "".join(f"{cell:>26}" for cell in cells))


def _draw(results: list[Result], loads: list[float], path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for method in dict.fromkeys(result.method for result in results):
        shares = [result.on_time_accuracy for result in results if result.method == method]
        axes.plot(loads, shares, marker="o", label=method, linestyle="-" if "," in method else "--")
    axes.set(xlabel="load, times the capacity of the slowest peer", ylabel="on-time accuracy", xscale="log")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    figure.savefig(path)


if __name__ == "__main__":
    main()
