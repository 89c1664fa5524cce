"""Log loss and calibration error of every classifier beside a random forest: ``python -m benchmarks.calibration``.

    python -m benchmarks.calibration [--sets letter,vowel] [--folds 4] [--queries 600]

Default budgets. Cells are log loss / expected calibration error (15 bins of confidence), raw and calibrated where there
is a calibration. Raw probabilities are clipped at 1e-15.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from anystream import (
    AnytimeForestClassifier,
    AnytimeNeighborsClassifier,
    BayesTreeClassifier,
    KAOGClassifier,
    KAOGINCClassifier,
    LocustClassifier,
    MicroClusterClassifier,
)
from anystream.drift import WCEA, DynamicWeightedMajority, GaussianNaiveBayes, OnlineTree2, SEAEnsemble
from anystream.subspace import BlockLocustClassifier
from benchmarks.bayes_tree.calibration import figures
from benchmarks.bayes_tree.variants import SETS, available_folds
from benchmarks.table import machine, print_table

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "Bayes tree": BayesTreeClassifier,
    "neighbours": lambda: AnytimeNeighborsClassifier(scaling="standard"),
    "neighbours, k=9": lambda: AnytimeNeighborsClassifier(scaling="standard", k=9),
    "LOCUST": LocustClassifier,
    "LOCUST, blocks": BlockLocustClassifier,
    "micro-clusters": MicroClusterClassifier,
    "KAOG": KAOGClassifier,
    "KAOGINC": KAOGINCClassifier,
    "naive Bayes": GaussianNaiveBayes,
    "OnlineTree2": OnlineTree2,
    "SEA": SEAEnsemble,
    "WCEA": WCEA,
    "DWM": DynamicWeightedMajority,
    "forest": AnytimeForestClassifier,
    "RandomForest(100)": lambda: RandomForestClassifier(100, random_state=0),
}


def measure(make: Callable[[], Any], parts: list[tuple[np.ndarray, ...]]) -> dict[str, tuple[float, float]]:
    """Return the mean figures over the parts, raw and calibrated if the classifier has a calibration."""
    found: dict[str, list[tuple[float, float]]] = {}
    for X, y, Q, labels in parts:
        model = make().fit(X, y)
        calibrated = "calibrate" in model.get_params()
        found.setdefault("calibrated" if calibrated else "", []).append(
            figures(model.predict_proba(Q), model.classes_, labels)
        )
        if calibrated:
            raw = model.set_params(calibrate=False).predict_proba(Q)
            found.setdefault("raw", []).append(figures(raw, model.classes_, labels))
    return {form: tuple(np.mean(values, axis=0)) for form, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--only", nargs="+", choices=CLASSIFIERS, default=list(CLASSIFIERS))
    arguments = parser.parse_args()
    data = available_folds(arguments.sets.split(","), arguments.folds, arguments.queries)
    if not data:
        return
    rows = []
    for name in arguments.only:
        measured = {key: measure(CLASSIFIERS[name], parts) for key, parts in data.items()}
        for form in sorted(next(iter(measured.values())), reverse=True):
            values = np.array([of[form] for of in measured.values()])
            cells = [f"{loss:.3f} / {error:.3f}" for loss, error in (*values, values.mean(axis=0))]
            rows.append([f"{name}, {form}" if form else name, *cells])
    print_table(
        f"log loss / expected calibration error, {arguments.folds} of 4 folds ({machine()})",
        ["", *data, "mean"],
        rows,
        [],
    )


if __name__ == "__main__":
    main()
