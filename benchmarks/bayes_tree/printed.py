"""Effect of every printed rule of BT* and of the bulk loadings against our default for it.

    python -m benchmarks.bayes_tree.printed [--sets letter,pendigits] [--folds 1] [--queries 300] [--only MM]
    python -m benchmarks.bayes_tree.printed --sets covtype,elec2 --records 20000 --only window

The folds and queries are those of `benchmarks.bayes_tree.variants`; 200 steps each. The window of Goldberger and virtual
sampling takes effect in classes of more than about 3,000 records: the second command has such. Every row is `bt_star` with one rule
as printed or as our default has it. Cells are avg / max in percent; the last column is the processor time of one fit.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from anystream import AnytimeCurve, BayesTreeClassifier, anytime_curve
from anystream.bayes_tree.options import COVARIANCE_DEFAULTS, MARGIN_DEFAULTS
from benchmarks.bayes_tree.variants import FOLDS, available_folds
from benchmarks.table import machine, print_table

_BN: dict[str, Any] = {"covariance": "full", "covariance_levels": 2}
_MM: dict[str, Any] = {"margin_levels": 2}
_VS: dict[str, Any] = {"construction": "virtual_sampling"}
ROWS: dict[str, dict[str, Any]] = {
    "k = min(2, log2 L), printed": {},
    'k = max(2, log2 L), "published"': {"refined_classes": "published"},
    'k = max(4, log2 L), "auto"': {"refined_classes": "auto"},
    "variances of inner entries by Eq. 5, printed": {},
    "variances of inner entries not below a kernel's": {"inner_variance": "max"},
    "EM on all records, printed": {},
    "EM on samples of 2000": {"construction_options": {"sample": 2000}},
    "EM on samples of 500": {"construction_options": {"sample": 500}},
    "EM on samples of 100": {"construction_options": {"sample": 100}},
    "BN, printed": _BN,
    "BN, default": _BN | {"covariance_options": COVARIANCE_DEFAULTS},
    "MM, printed": _MM,
    "MM, weights stay": _MM | {"margin_options": {"weights": False, "min_records": 0, "floor": False}},
    "MM, small entries stay": _MM | {"margin_options": {"weights": True, "min_records": 10, "floor": False}},
    "MM, floor": _MM | {"margin_options": {"weights": True, "min_records": 0, "floor": True}},
    "MM, default": _MM | {"margin_options": MARGIN_DEFAULTS},
    "virtual sampling, printed": _VS,
    "virtual sampling, tolerance 0.01, no window": _VS | {"construction_options": {"window": None, "tolerance": 0.01}},
    "virtual sampling, tolerance 0.01, window of 512, default": _VS | {"construction_options": None},
    "Goldberger, no window, printed": {"construction": "goldberger"},
    "Goldberger, window of 512, default": {"construction": "goldberger", "construction_options": None},
}
"""Changes to `BayesTreeClassifier.bt_star`."""


def measure(changes: dict[str, Any], parts: list[tuple[np.ndarray, ...]]) -> tuple[str, float, float]:
    """Return avg / max as a cell, avg, and processor seconds of a fit."""
    started = time.process_time()
    models = [BayesTreeClassifier.bt_star(n_jobs=1, **changes).fit(X, y) for X, y, _, _ in parts]
    seconds = (time.process_time() - started) / len(parts)
    curves = [anytime_curve(m, Q, z, stages=range(201)) for m, (_, _, Q, z) in zip(models, parts, strict=True)]
    curve = AnytimeCurve.mean(curves)
    return f"{100 * curve.avg:.1f} / {100 * curve.max:.1f}", 100 * curve.avg, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="letter,pendigits,vowel,segment")
    parser.add_argument("--folds", type=int, default=1, choices=range(1, FOLDS + 1))
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--records", type=int, default=None, help="draw so many records of each set")
    parser.add_argument("--only", default="", help="only the rows whose name contains this")
    arguments = parser.parse_args()
    data = available_folds(arguments.sets.split(","), arguments.folds, arguments.queries, arguments.records)
    if not data:
        return
    rows = []
    for name, changes in ROWS.items():
        if arguments.only not in name:
            continue
        found = [measure(changes, parts) for parts in data.values()]
        mean, seconds = (float(np.mean([each[i] for each in found])) for i in (1, 2))
        rows.append([name, *(cell for cell, _, _ in found), f"{mean:.2f}", f"{seconds:.2f} s"])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    title = f"bt_star with one rule changed: avg / max over 200 steps, {arguments.folds} of {FOLDS} folds, up to {arguments.queries} queries, {arguments.records or 'all'} records ({machine()})"
    print_table(title, ["", *data, "mean avg", "fit"], rows)


if __name__ == "__main__":
    main()
