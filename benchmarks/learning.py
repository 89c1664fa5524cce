"""Time and memory of `learn_one`, call by call, for every classifier that learns: ``python -m benchmarks.learning``.

Records of ten features in six classes; the centre of every class moves slowly. Times are processor time of the calling
thread. Other work on the machine still disturbs them, through caches, page faults and shared cores. So the same records
are learned several times, and of each call the shortest time counts: what remains is the work of the call itself. Each
classifier has a process of its own: Python's collector of garbage looks at all objects, those of other classifiers too.
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from anystream import (
    AnytimeNeighborsClassifier,
    BayesTreeClassifier,
    KAOGINCClassifier,
    LocustClassifier,
    MicroClusterClassifier,
)
from anystream.drift import WCEA, DynamicWeightedMajority, GaussianNaiveBayes, OnlineTree2, SEAEnsemble
from anystream.subspace import BlockLocustClassifier
from benchmarks.table import machine, print_table

LIMIT_MS = 2
"""No call should take longer."""

CLASSIFIERS: dict[str, Callable[[], object]] = {
    "Bayes tree": BayesTreeClassifier,
    "Bayes tree, window=20000": lambda: BayesTreeClassifier(window=20_000),
    "neighbours": AnytimeNeighborsClassifier,
    "neighbours, window=20000": lambda: AnytimeNeighborsClassifier(window=20_000),
    "neighbours, inverted": lambda: AnytimeNeighborsClassifier(search="inverted"),
    "neighbours, inverted, window=20000": lambda: AnytimeNeighborsClassifier(search="inverted", window=20_000),
    "micro-clusters": MicroClusterClassifier,
    "LOCUST": LocustClassifier,
    "LOCUST, blocks": BlockLocustClassifier,
    "KAOGINC": KAOGINCClassifier,
    "naive Bayes": GaussianNaiveBayes,
    "OnlineTree2": OnlineTree2,
    "SEA": SEAEnsemble,
    "SEA, train_within=25": lambda: SEAEnsemble(train_within=25),
    "WCEA": WCEA,
    "WCEA, train_within=25": lambda: WCEA(train_within=25),
    "DWM": DynamicWeightedMajority,
}


def draw_records(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records whose classes move slowly, and their labels."""
    rng = np.random.default_rng(seed)
    centres = 2 * rng.normal(size=(6, 10))
    speed = rng.normal(size=(6, 10))
    labels = rng.integers(6, size=n)
    moved = np.linspace(0, 1, n)[:, np.newaxis]
    return centres[labels] + speed[labels] * moved + rng.normal(size=(n, 10)), labels


def measure_classifier(name: str, n_records: int, runs: int) -> tuple[str, ...]:
    """Return the row of one classifier."""
    spent, model = measure_runs(CLASSIFIERS[name], *draw_records(n_records, seed=0), runs)
    figures = (spent.sum() / 1e6, spent.mean(), np.quantile(spent, 0.999), spent.max() / 1000)
    above = int((spent > 1000 * LIMIT_MS).sum())
    row = (*(f"{figure:.1f}" for figure in figures), f"{spent.argmax():,}", f"{above:,}")
    return name, *row, f"{model.memory_bytes_ / 1e6:.1f}"


def measure_runs(make: Callable[[], object], X: np.ndarray, labels: np.ndarray, runs: int) -> tuple[np.ndarray, object]:
    """Return for every call its shortest time over several runs, in microseconds, and the model of the last run."""
    shortest = np.full(len(X), np.inf)
    for _ in range(runs):
        model = make()
        shortest = np.minimum(shortest, measure_calls(model, X, labels))
    return shortest, model


def measure_calls(model: object, X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the processor time of every `learn_one` in microseconds."""
    spent = np.empty(len(X))
    for i, (row, label) in enumerate(zip(X.tolist(), labels.tolist(), strict=True)):
        record = dict(enumerate(row))
        started = time.thread_time_ns()
        model.learn_one(record, label)
        spent[i] = time.thread_time_ns() - started
    return spent / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3, help="of each call the shortest time of so many runs counts")
    parser.add_argument("--only", nargs="+", choices=CLASSIFIERS, default=list(CLASSIFIERS))
    arguments = parser.parse_args()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        rows = [
            pool.submit(measure_classifier, name, arguments.records, arguments.runs).result() for name in arguments.only
        ]
    print_table(
        f"{arguments.records:,} calls of learn_one",
        ("classifier", "all, s", "mean, us", "p99.9, us", "longest, ms", "at call", "above 2 ms", "memory_bytes_, MB"),
        rows,
        [
            "10 features, 6 classes that move slowly, seed 0; processor time of one thread, "
            f"of each call the shortest of {arguments.runs} runs",
            machine(),
        ],
    )


if __name__ == "__main__":
    main()
