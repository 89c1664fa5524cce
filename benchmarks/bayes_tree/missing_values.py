"""Accuracy and confidence when cells are missing at answer time, on four data sets.

    python -m benchmarks.bayes_tree.missing_values [--sets letter,vowel] [--queries 600]

The default, which may learn a metric and a root model, beside the trees alone (``metric=None, root_model=None``), from
which missing values are integrated out exactly. Cells are accuracy / mean confidence in percent at the default budget;
one fold of four is tested, its missing cells are drawn at random (seed 0).
"""

from __future__ import annotations

import argparse

import numpy as np

from anystream import BayesTreeClassifier
from benchmarks.bayes_tree.variants import PLAIN, available_folds
from benchmarks.table import machine, print_table

SETS = ["pendigits", "letter", "segment", "spambase"]
SHARES = (0.0, 0.1, 0.2, 0.5, 0.8, 1.0)
MODELS = {"default": {}, "trees alone": PLAIN}


def measure(model: BayesTreeClassifier, queries: np.ndarray, labels: np.ndarray) -> list[str]:
    """Return accuracy and mean confidence at every share of missing cells."""
    draws = np.random.default_rng(0).random(queries.shape)
    cells = []
    for share in SHARES:
        proba = model.predict_proba(np.where(draws < share, np.nan, queries))
        right = model.classes_[proba.argmax(axis=1)] == labels
        cells.append(f"{100 * right.mean():.1f} / {100 * proba.max(axis=1).mean():.1f}")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--queries", type=int, default=600)
    arguments = parser.parse_args()
    rows = []
    for name, parts in available_folds(arguments.sets.split(","), 1, arguments.queries).items():
        X, y, queries, labels = parts[0]
        for form, parameters in MODELS.items():
            rows.append([name, form, *measure(BayesTreeClassifier(**parameters).fit(X, y), queries, labels)])
    if rows:
        print_table(
            f"accuracy / mean confidence, % ({machine()})",
            ["", "", *(f"{share:.0%} missing" for share in SHARES)],
            rows,
            [],
        )


if __name__ == "__main__":
    main()
