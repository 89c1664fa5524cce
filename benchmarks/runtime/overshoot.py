"""By how much calls overshoot their deadline, for every classifier: ``python -m benchmarks.runtime.overshoot``.

A call may last 2 ms, whatever the number of records; the table shows how much longer it took. Records are drawn as 64
features in ten classes. Run it on an idle machine: a thread that the system suspends overshoots, too.
"""

import argparse
import time
from collections.abc import Callable

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


def measure(model: object, X: np.ndarray, seconds: float, repeats: int) -> tuple[np.ndarray, float]:
    """Return the overshoots in microseconds, and the share of records that the last call reached."""
    budget = Budget(seconds=seconds)
    answer = model.classify(X, budget=budget)
    over = np.empty(repeats)
    for i in range(repeats):
        started = time.perf_counter()
        answer = model.classify(X, budget=budget)
        over[i] = 1e6 * (time.perf_counter() - started - seconds)
    return over, float(answer.reached.mean())


def measure_machine(seconds: float, repeats: int) -> np.ndarray:
    """Return the overshoots in microseconds of a loop that does nothing but look at the clock."""
    over = np.empty(repeats)
    for i in range(repeats):
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass
        over[i] = 1e6 * (time.perf_counter() - until)
    return over


def describe(over: np.ndarray) -> list[str]:
    """Return the cells of some overshoots."""
    return [*(f"{value:.0f}" for value in np.quantile(over, [0.5, 0.99, 0.999])), f"{over.max():.0f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1,100,10000,1000000", help="records per call, separated by commas")
    parser.add_argument("--repeats", type=int, default=1000, help="calls per cell; a tenth above 100,000 records")
    parser.add_argument("--only", help="names of classifiers, separated by commas")
    options = parser.parse_args()
    X, y = draw_records(N_TRAINING, 1)
    rows = [["the machine alone", "-", *describe(measure_machine(0.002, options.repeats)), "-"]]
    for name in options.only.split(",") if options.only else CLASSIFIERS:
        model = CLASSIFIERS[name]().fit(X, y)
        for size in map(int, options.sizes.split(",")):
            records, _ = draw_records(size, 2)
            over, reached = measure(model, records, 0.002, options.repeats // (10 if size > 100_000 else 1))
            rows.append([name, size, *describe(over), f"{reached:.1%}"])
    print(machine())
    header = ["classifier", "records", "p50 us", "p99 us", "p99.9 us", "max us", "reached"]
    print_table("Overshoot of a deadline of 2 ms, 64 features, ten classes", header, rows)


if __name__ == "__main__":
    main()
