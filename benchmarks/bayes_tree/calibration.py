"""Log loss and calibration error beside a random forest, on the eight data sets of `variants`.

    python -m benchmarks.bayes_tree.calibration [--sets letter,vowel] [--folds 4] [--queries 600]

Cells are log loss / expected calibration error (15 bins of confidence). Raw probabilities are clipped at 1e-15.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss

from anystream import BayesTreeClassifier
from benchmarks.bayes_tree.variants import SETS, available_folds
from benchmarks.table import machine, print_table

BUDGETS = (0, 10, 200)
BINS = 15


def calibration_error(proba: np.ndarray, correct: np.ndarray) -> float:
    """Return the mean difference of confidence and accuracy over bins of confidence."""
    confidence = proba.max(axis=1)
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    differences = (abs(confidence[bins == b].sum() - correct[bins == b].sum()) for b in range(BINS))
    return float(sum(differences) / len(proba))


def figures(proba: np.ndarray, classes: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    loss = log_loss(labels, np.clip(proba, 1e-15, 1.0), labels=classes)
    return float(loss), calibration_error(proba, classes[proba.argmax(axis=1)] == labels)


def measure(parts: list[tuple[np.ndarray, ...]]) -> np.ndarray:
    """Return (model, figure): raw and calibrated at each budget, then the forest; mean over the parts."""
    found = []
    for X, y, Q, labels in parts:
        model, forest = BayesTreeClassifier().fit(X, y), RandomForestClassifier(100, random_state=0).fit(X, y)
        rows = []
        for calibrate in (False, True):
            model.set_params(calibrate=calibrate)
            rows += [figures(model.predict_proba(Q, budget=budget), model.classes_, labels) for budget in BUDGETS]
        found.append([*rows, figures(forest.predict_proba(Q), forest.classes_, labels)])
    return np.mean(found, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--queries", type=int, default=600)
    arguments = parser.parse_args()
    data = available_folds(arguments.sets.split(","), arguments.folds, arguments.queries)
    if not data:
        return
    measured = {name: measure(parts) for name, parts in data.items()}
    measured["mean"] = np.mean(list(measured.values()), axis=0)
    names = [f"{form}, {budget} steps" for form in ("raw", "calibrated") for budget in BUDGETS] + ["RandomForest(100)"]
    rows = [
        [name, *(f"{values[i][0]:.3f} / {values[i][1]:.3f}" for values in measured.values())]
        for i, name in enumerate(names)
    ]
    print_table(
        f"log loss / expected calibration error, {arguments.folds} of 4 folds ({machine()})", ["", *measured], rows, []
    )


if __name__ == "__main__":
    main()
