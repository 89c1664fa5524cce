"""By how much calls overshoot their deadline, for every classifier: ``python -m benchmarks.runtime.overshoot``.

A call may last 2 ms, whatever the number of records; the table shows how much longer it took, in real time and in
processor time of the thread. Records are drawn as 64 features in ten classes. A thread that the system or the host of
a virtual machine suspends overshoots in real time, but not in processor time; with one thread the classifiers never
wait, so that processor time tells what is their own. Garbage collection is off, as it is while the engine runs.
"""

import argparse
import gc
import time
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from anystream import (
    AnytimeForestClassifier,
    AnytimeNeighborsClassifier,
    BayesTreeClassifier,
    Budget,
    KAOGINCClassifier,
    LocustClassifier,
    MicroClusterClassifier,
)
from anystream.drift import WCEA, DynamicWeightedMajority, GaussianNaiveBayes, OnlineTree2, SEAEnsemble
from benchmarks.table import machine, print_table

CLASSIFIERS: dict[str, Callable[[], object]] = {
    "Bayes tree": BayesTreeClassifier,
    "neighbours": AnytimeNeighborsClassifier,
    "forest": AnytimeForestClassifier,
    "micro-clusters": MicroClusterClassifier,
    "LOCUST": LocustClassifier,
    "KAOGINC": KAOGINCClassifier,
    "naive Bayes": GaussianNaiveBayes,
    "OnlineTree2": OnlineTree2,
    "SEA": SEAEnsemble,
    "WCEA": WCEA,
    "DWM": DynamicWeightedMajority,
}
N_TRAINING, N_FEATURES, N_CLASSES = 5_000, 64, 10


def draw_records(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records around one centre per class, and their labels."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(N_CLASSES, N_FEATURES))
    labels = rng.integers(N_CLASSES, size=n)
    return centres[labels] + rng.normal(size=(n, N_FEATURES)), labels


class Overshoots(NamedTuple):
    """Microseconds after the deadline, of each call."""

    real: np.ndarray
    processor: np.ndarray

    @classmethod
    def measure(cls, call: Callable[[], object], seconds: float, repeats: int) -> Self:
        """Measure calls that may last so many seconds; what they return is freed outside the measured time."""
        call()
        times = np.empty((2, repeats))
        for i in range(repeats):
            started, worked = time.perf_counter(), time.thread_time()
            result = call()
            times[:, i] = time.perf_counter() - started, time.thread_time() - worked
            del result
        return cls(*(1e6 * (times - seconds)))


def measure(model: object, X: np.ndarray, seconds: float, repeats: int) -> tuple[Overshoots, float]:
    """Return the overshoots, and the share of records that calls reach."""
    budget = Budget(seconds=seconds)
    over = Overshoots.measure(lambda: model.classify(X, budget=budget), seconds, repeats)
    return over, float(np.mean([model.classify(X, budget=budget).reached.mean() for _ in range(10)]))


def measure_machine(seconds: float, repeats: int) -> Overshoots:
    """Return the overshoots of a loop that does nothing but look at the clock."""

    def wait() -> None:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass

    return Overshoots.measure(wait, seconds, repeats)


def describe(over: Overshoots) -> list[str]:
    """Return the cells of some overshoots."""
    return [f"{value:.0f}" for values in over for value in (*np.quantile(values, [0.5, 0.99, 0.999]), values.max())]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1,100,10000,1000000", help="records per call, separated by commas")
    parser.add_argument("--repeats", type=int, default=1000, help="calls per cell; a tenth above 100,000 records")
    parser.add_argument("--threads", type=int, default=1, help="threads of each classifier")
    parser.add_argument("--only", help="names of classifiers, separated by commas")
    options = parser.parse_args()
    X, y = draw_records(N_TRAINING, 1)
    gc.collect()
    gc.disable()
    rows = [["the machine alone", "-", *describe(measure_machine(0.002, options.repeats)), "-"]]
    for name in options.only.split(",") if options.only else CLASSIFIERS:
        model = CLASSIFIERS[name]()
        if "n_jobs" in model.get_params():
            model.set_params(n_jobs=options.threads)
        model.fit(X, y)
        for size in map(int, options.sizes.split(",")):
            records, _ = draw_records(size, 2)
            over, reached = measure(model, records, 0.002, options.repeats // (10 if size > 100_000 else 1))
            rows.append([name, size, *describe(over), f"{reached:.1%}"])
    print(machine())
    quantiles = ["p50", "p99", "p99.9", "max"]
    header = ["classifier", "records", *quantiles, *(f"{name} CPU" for name in quantiles), "reached"]
    print_table("Microseconds after a deadline of 2 ms, 64 features, ten classes", header, rows)


if __name__ == "__main__":
    main()
