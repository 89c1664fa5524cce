"""Our classifiers at several budgets beside other libraries on the same data: accuracy and records per second.

    python -m benchmarks.peers
    python -m benchmarks.peers --datasets pendigits

The peers: a random forest of 100 trees in scikit-learn and in ONNX Runtime, gradient boosting, Gaussian naive Bayes,
and the nearest neighbour by scikit-learn and by faiss. One thread, processor time; each classifier has a turn in every
round, and the minimum of seven counts. ``make bench-peers`` installs the peers first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from anystream import AnytimeForestClassifier, AnytimeNeighborsClassifier, BayesTreeClassifier, LocustClassifier
from anystream.streams import DatasetNotFoundError
from benchmarks.forest.engines import NotInstalled, fit_forest, onnx_runtime
from benchmarks.runtime.on_time import split
from benchmarks.table import print_table
from benchmarks.timing import race

BATCH = 1_000
REFERENCE = "RandomForest, ONNX Runtime"

Predict = Callable[[Any], Any]


def fit_ours(X: Any, y: Any, forest: Any) -> dict[str, Predict]:
    """Return how to predict by each of our classifiers, at several budgets."""
    tree = BayesTreeClassifier(n_jobs=1).fit(X, y)
    locust = LocustClassifier(n_jobs=1).fit(X, y)
    neighbors = AnytimeNeighborsClassifier(search="inverted", scaling="standard", n_jobs=1).fit(X, y)
    imported = AnytimeForestClassifier.from_model(forest, n_jobs=1)
    found: dict[str, Predict] = {}
    for name, model, budgets in (
        ("Bayes tree", tree, (0, 20, 200)),
        ("LOCUST", locust, (1, 30)),
        ("neighbours", neighbors, (50, len(X))),
        ("imported RandomForest", imported, (50, imported.max_steps_)),
    ):
        for budget in budgets:
            steps = "1 step" if budget == 1 else f"{budget:,} steps"
            found[f"{name}, {steps}"] = lambda rows, model=model, budget=budget: model.predict(rows, budget=budget)
    return found


def fit_peers(X: Any, y: Any, forest: Any) -> tuple[dict[str, tuple[Predict, Any]], list[str]]:
    """Return how to predict by each peer with the type of its records, and words about those that are left out."""
    scaler = StandardScaler().fit(X)
    neighbors = KNeighborsClassifier(1, algorithm="brute").fit(scaler.transform(X), y)
    found: dict[str, tuple[Predict, Any]] = {
        "RandomForest, scikit-learn": (forest.predict, np.float32),
        "HistGradientBoosting, scikit-learn": (fit_forest("HistGradientBoosting", X, y).predict, float),
        "GaussianNB, scikit-learn": (GaussianNB().fit(X, y).predict, float),
        "1-NN, scikit-learn": (lambda rows: neighbors.predict(scaler.transform(rows)), float),
    }
    notes = []
    try:
        run, kind = onnx_runtime(forest, X.shape[1])
        found[REFERENCE] = (lambda rows: forest.classes_[np.asarray(run(rows)).argmax(axis=1)], kind)
    except NotInstalled as error:
        notes.append(f"ONNX Runtime is left out: {error}")
    try:
        import faiss
    except ImportError:
        notes.append("faiss is left out: it is not installed; see make bench-peers")
    else:
        faiss.omp_set_num_threads(1)
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(scaler.transform(X).astype(np.float32))
        found["1-NN, faiss flat"] = (lambda rows: y[index.search(scaler.transform(rows), 1)[1][:, 0]], np.float32)
    return found, notes


def measure(dataset: str) -> tuple[list[list[Any]], list[str]]:
    """Return a row per classifier and budget, and notes."""
    (X, y), (queries, labels) = split(dataset)
    forest = fit_forest("RandomForest", X, y)
    peers, notes = fit_peers(X, y, forest)
    predicts = {name: (predict, float) for name, predict in fit_ours(X, y, forest).items()} | peers
    accuracy = {name: np.mean(predict(queries.astype(kind)) == labels) for name, (predict, kind) in predicts.items()}
    works = {name: (predict, queries[:BATCH].astype(kind)) for name, (predict, kind) in predicts.items()}
    batch_s, single_s = race(works, singles=20)
    reference_s = batch_s.get(REFERENCE, np.nan)
    rows = [
        [
            dataset,
            name,
            f"{accuracy[name]:.1%}",
            f"{BATCH / batch_s[name]:,.0f}",
            f"{reference_s / batch_s[name]:.2f}",
            f"{1e6 * single_s[name]:,.1f}",
        ]
        for name in works
    ]
    return rows, notes


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="digits,pendigits,letter,covtype", help="names, separated by commas")
    options = parser.parse_args()
    rows, notes = [], [f"batches of {BATCH:,}; at most 20,000 training records, seed 0"]
    for dataset in options.datasets.split(","):
        print(dataset, file=sys.stderr)
        try:
            with threadpool_limits(1):
                lines, words = measure(dataset)
        except DatasetNotFoundError as error:
            notes.append(f"{dataset} is left out: {error}")
            continue
        rows += lines
        notes += [word for word in words if word not in notes]
    header = ["data", "classifier", "accuracy", "records/s", f"of {REFERENCE}", "one record, us"]
    print_table("Classifiers beside those of other libraries, one thread, processor time", header, rows, notes)


if __name__ == "__main__":
    main()
