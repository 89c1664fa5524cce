"""Time and memory of `learn_one`, call by call, for every classifier that learns: ``python -m benchmarks.learning``.

Records of ten features in six classes; the centre of every class moves slowly. Times are processor time of the calling
thread, so other work on the machine has little effect; page faults and caches do.
"""

import argparse
import time
from collections.abc import Callable

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
    "WCEA": WCEA,
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
    parser.add_argument("--only", nargs="+", choices=CLASSIFIERS, default=list(CLASSIFIERS))
    arguments = parser.parse_args()
    X, labels = draw_records(arguments.records, seed=0)
    rows = []
    for name in arguments.only:
        model = CLASSIFIERS[name]()
        spent = measure_calls(model, X, labels)
        figures = (spent.sum() / 1e6, spent.mean(), np.quantile(spent, 0.999), spent.max(), model.memory_bytes_ / 1e6)
        rows.append((name, *(f"{figure:.1f}" for figure in figures)))
    print_table(
        f"{arguments.records:,} calls of learn_one",
        ("classifier", "all, s", "mean, us", "p99.9, us", "longest, us", "memory_bytes_, MB"),
        rows,
        ["10 features, 6 classes that move slowly, seed 0; processor time of one thread", machine()],
    )


if __name__ == "__main__":
    main()
