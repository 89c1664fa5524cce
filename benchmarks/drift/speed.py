"""Speed of the ensembles, learning and predicting: covtype, or random clusters without ANYSTREAM_DATA.

    python -m benchmarks.drift.speed [--records 10000]

10,000 records are learned in calls of 1,000, then 10,000 others are classified in one call, and 500 one by one. One
thread each; processor time, minimum of three repetitions.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from anystream.bayes_tree import BayesTreeClassifier
from anystream.drift import WCEA, DynamicWeightedMajority, GaussianNaiveBayes, SEAEnsemble
from anystream.graph import KAOGINCClassifier
from anystream.streams import RandomRBF, available_datasets, load_dataset
from benchmarks.table import machine, print_table
from benchmarks.timing import min_seconds

MODELS: dict[str, Callable[[], Any]] = {
    "Bayes tree": lambda: BayesTreeClassifier(n_jobs=1),
    "WCEA, Bayes trees": lambda: WCEA(BayesTreeClassifier(metric=None, root_model=None, n_jobs=1)),
    "WCEA, Bayes trees, chunks of 500": lambda: WCEA(
        BayesTreeClassifier(metric=None, root_model=None, n_jobs=1), chunk_size=500
    ),
    "WCEA, trees": WCEA,
    "WCEA, naive Bayes": lambda: WCEA(GaussianNaiveBayes()),
    "SEA, trees": SEAEnsemble,
    "DWM-NB": DynamicWeightedMajority,
    "KAOGINC": lambda: KAOGINCClassifier(n_jobs=1),
}


measure = partial(min_seconds, repeats=3)


def train(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> Any:
    model = make()
    for start in range(0, len(X), 1000):
        model.partial_fit(X[start : start + 1000], y[start : start + 1000])
    return model


def measure_row(name: str, X: np.ndarray, y: np.ndarray, n: int) -> list[str]:
    make = MODELS[name]
    learn_s = measure(lambda: train(make, X[:n], y[:n]))
    model = train(make, X[:n], y[:n])
    predict_s = measure(lambda: model.predict(X[n:]))
    records = [dict(enumerate(record)) for record in X[n : n + 500].tolist()]
    predict_one_s = measure(lambda: [model.predict_one(record) for record in records])
    return [name, *(f"{rate:,.0f}" for rate in (n / learn_s, len(X[n:]) / predict_s, len(records) / predict_one_s))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000)
    n = parser.parse_args().records
    stream = load_dataset("covtype") if "covtype" in available_datasets() else RandomRBF(seed=1)
    X, y = stream.take(2 * n)
    print_table(
        f"Records per second, {stream!r}",
        ["", "learning", "predicting a batch", "predicting one by one"],
        [measure_row(name, X, y, n) for name in MODELS],
        [machine()],
    )


if __name__ == "__main__":
    main()
