"""By how much calls overshoot their deadline, for every classifier: ``python -m benchmarks.runtime.overshoot``.

A call may last 2 ms, whatever the number of records; the table shows how much longer it took, in real time and in
processor time of the thread. Records are drawn as 64 features in ten classes. A thread that the system suspends
overshoots in real time, but not in processor time; with one thread the classifiers never wait. What the host of a
virtual machine takes away may count as processor time all the same: a loop that only looks at the clock has a turn
after each call and shows how much that was. Garbage collection is off, as it is while the engine runs.
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

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
from benchmarks.table import print_table

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


def measure(model: object, X: np.ndarray, seconds: float, repeats: int) -> tuple[Overshoots, Overshoots, float]:
    """Return the overshoots of calls, those of a loop that only looks at the clock, and the share of records reached.

    After each call the loop has a turn, so that both meet the same disturbances by the machine. What calls return is
    freed outside the measured time.
    """
    budget = Budget(seconds=seconds)
    model.classify(X, budget=budget)
    times = np.empty((2, 2, repeats))
    for i in range(repeats):
        started, worked = time.perf_counter(), time.thread_time()
        answer = model.classify(X, budget=budget)
        times[0, :, i] = time.perf_counter() - started, time.thread_time() - worked
        del answer
        started, worked = time.perf_counter(), time.thread_time()
        while time.perf_counter() < started + seconds:
            pass
        times[1, :, i] = time.perf_counter() - started, time.thread_time() - worked
    calls, loop = (Overshoots(*over) for over in 1e6 * (times - seconds))
    return calls, loop, float(np.mean([model.classify(X, budget=budget).reached.mean() for _ in range(10)]))


def describe(over: Overshoots) -> list[str]:
    """Return the cells of some overshoots."""
    return [f"{value:.0f}" for values in over for value in (*np.quantile(values, [0.5, 0.99, 0.999]), values.max())]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1,100,10000,1000000", help="records per call, separated by commas")
    parser.add_argument("--repeats", type=int, default=1000, help="calls per cell")
    parser.add_argument("--threads", type=int, default=1, help="threads of each classifier")
    parser.add_argument("--only", help="names of classifiers, separated by commas")
    options = parser.parse_args()
    X, y = draw_records(N_TRAINING, 1)
    gc.collect()
    gc.disable()
    rows = []
    for name in options.only.split(",") if options.only else CLASSIFIERS:
        model = CLASSIFIERS[name]()
        if "n_jobs" in model.get_params():
            model.set_params(n_jobs=options.threads)
        model.fit(X, y)
        for size in map(int, options.sizes.split(",")):
            records, _ = draw_records(size, 2)
            over, loop, reached = measure(model, records, 0.002, options.repeats)
            alone = [f"{np.quantile(values, 0.999):.0f}" for values in loop]
            rows.append([name, size, *describe(over), *alone, f"{reached:.1%}"])
            print(" ".join(map(str, rows[-1])), file=sys.stderr)
    quantiles = ["p50", "p99", "p99.9", "max"]
    columns = [*quantiles, *(f"{name} CPU" for name in quantiles), "loop p99.9", "loop p99.9 CPU", "reached"]
    header = ["classifier", "records", *columns]
    print_table("Microseconds after a deadline of 2 ms, 64 features, ten classes", header, rows)


if __name__ == "__main__":
    main()
