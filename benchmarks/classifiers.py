"""Every main classifier on the same data, for choosing one: ``python -m benchmarks.classifiers``.

    python -m benchmarks.classifiers [--sets letter,vowel] [--folds 4] [--queries 600]

Defaults, except that neighbours scale the features and search inverted lists. Accuracy in per cent after a number of
steps, the share of labels that were certified at the default budget, processor time of all threads, and the size of the
model. Times of the forest are those of training its trees and of reading all of their nodes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from anystream import (
    AnytimeForestClassifier,
    AnytimeNeighborsClassifier,
    BayesTreeClassifier,
    KAOGClassifier,
    KAOGINCClassifier,
    LocustClassifier,
    MicroClusterClassifier,
)
from anystream.drift import DynamicWeightedMajority
from benchmarks.bayes_tree.variants import SETS, available_folds
from benchmarks.table import machine, print_table
from benchmarks.timing import min_seconds

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "BayesTreeClassifier": BayesTreeClassifier,
    "AnytimeForestClassifier": AnytimeForestClassifier,
    "AnytimeNeighborsClassifier": lambda: AnytimeNeighborsClassifier(scaling="standard", search="inverted"),
    "LocustClassifier": LocustClassifier,
    "KAOGClassifier": KAOGClassifier,
    "KAOGINCClassifier": KAOGINCClassifier,
    "MicroClusterClassifier": MicroClusterClassifier,
    "DynamicWeightedMajority": DynamicWeightedMajority,
}
PEERS: dict[str, Callable[[], Any]] = {
    "RandomForest(100)": lambda: RandomForestClassifier(100, random_state=0),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
}
BUDGETS = (0, 10, 100)


def measure(make: Callable[[], Any], parts: list[tuple[np.ndarray, ...]]) -> dict[str, float]:
    """Return the figures of a classifier, averaged over the parts."""
    found = []
    for X, y, Q, labels in parts:
        started = time.process_time()
        model = make().fit(X, y)
        figures = {"fit": time.process_time() - started}
        anytime = hasattr(model, "classify")
        for budget in BUDGETS if anytime else ():
            figures[f"{budget} steps"] = 100 * np.mean(model.predict(Q, budget=budget) == labels)
        figures["default"] = 100 * np.mean(model.predict(Q) == labels)
        figures["micros"] = 1e6 * min_seconds(lambda: model.predict(Q), 3) / len(Q)
        if anytime:
            answer = model.classify(Q)
            figures |= {"certified": 100 * np.mean(answer.certified), "mean steps": np.mean(answer.steps)}
        if hasattr(model, "memory_bytes_"):
            figures["bytes"] = model.memory_bytes_ / len(X)
        found.append(figures)
    return {key: float(np.mean([figures[key] for figures in found])) for key in found[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--only", nargs="+", choices=[*CLASSIFIERS, *PEERS], default=[*CLASSIFIERS, *PEERS])
    arguments = parser.parse_args()
    data = available_folds(arguments.sets.split(","), arguments.folds, arguments.queries)
    if not data:
        return
    made = CLASSIFIERS | PEERS
    measured = {}
    for name in arguments.only:
        measured[name] = {key: measure(made[name], parts) for key, parts in data.items()}
        print(name, measured[name], file=sys.stderr, flush=True)  # a row at a time: the whole takes a while
    print_table(
        f"accuracy in % at the default budget, {arguments.folds} of 4 folds, at most {arguments.queries} records of each",
        ["", *data, "mean"],
        [
            [name, *(f"{of[key]['default']:.1f}" for key in data), f"{mean(of, 'default'):.2f}"]
            for name, of in measured.items()
        ],
    )
    columns = [
        *(f"{budget} steps" for budget in BUDGETS),
        "default",
        "certified",
        "mean steps",
        "micros",
        "fit",
        "bytes",
    ]
    print_table(
        f"means over the sets ({machine()}): accuracy in % after steps, share certified in %, steps taken, processor "
        "time per record in us, processor time to fit in s, bytes per training record",
        ["", *columns],
        [[name, *(show(mean(of, column)) for column in columns)] for name, of in measured.items()],
    )


def mean(of: dict[str, dict[str, float]], column: str) -> float | None:
    """Return the mean of a column over the sets, or None where a classifier has no such figure."""
    values = [figures[column] for figures in of.values() if column in figures]
    return float(np.mean(values)) if values else None


def show(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


if __name__ == "__main__":
    main()
