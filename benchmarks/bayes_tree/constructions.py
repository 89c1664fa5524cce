"""Comparison of the constructions of the Bayes tree: anytime accuracy, variance per level, time to build.

    python -m benchmarks.bayes_tree.constructions [--sets letter,vowel] [--folds 4] [--queries 600] [--setting paper]

The folds and queries are those of `benchmarks.bayes_tree.variants`; 200 steps each, diagonal entries, so that only the
trees differ. Cells are area / max in percent. Variances are in units of the variance of the class. Data come from
ANYSTREAM_DATA; missing data sets are skipped.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from anystream import AnytimeCurve, BayesTreeClassifier, anytime_curve
from anystream.bayes_tree.recipe import CONSTRUCTIONS
from benchmarks.bayes_tree.variants import FOLDS, PLAIN, SETS, available_folds
from benchmarks.table import machine, print_table


def rank(mean_area: dict[str, float], best: dict[str, str]) -> list[str]:
    """Return the ranking of this run, and which construction leads on which sets."""
    order = sorted(mean_area, key=lambda name: -mean_area[name])
    leads = {name: [key for key, first in best.items() if first == name] for name in order}
    led = "; ".join(f"{name} on {', '.join(sets)}" for name, sets in leads.items() if sets)
    return ["by mean area: " + ", ".join(f"{name} {mean_area[name]:.2f}" for name in order), f"largest area: {led}"]


SETTINGS: dict[str, Callable[..., BayesTreeClassifier]] = {
    "ours": partial(BayesTreeClassifier, **PLAIN, covariance="diagonal"),
    "paper": partial(BayesTreeClassifier.bt_star, bandwidth="langley", decision="mixture", inner_variance="plain"),
}
"""Everything but the construction: our trees only, or the bulk loading paper's kernels, variances and decision."""


def compare(
    setting: str, construction: str, parts: list[tuple[np.ndarray, ...]]
) -> tuple[str, float, float, list[float]]:
    """Return area and max as a cell, the area, processor seconds to build, and the variance of levels 1, 2, …"""
    started = time.process_time()
    models = [SETTINGS[setting](construction=construction, n_jobs=1).fit(X, y) for X, y, _, _ in parts]
    seconds = (time.process_time() - started) / len(parts)
    curve = AnytimeCurve.mean(
        [anytime_curve(m, Q, z, stages=range(201)) for m, (_, _, Q, z) in zip(models, parts, strict=True)]
    )
    variances = [level.variance for level in models[0].tree_.describe().levels[1:]]
    return f"{100 * curve.area:.1f} / {100 * curve.max:.1f}", 100 * curve.area, seconds, variances


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--folds", type=int, default=FOLDS, choices=range(1, FOLDS + 1))
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--setting", default="ours", choices=SETTINGS)
    arguments = parser.parse_args()
    data = available_folds(arguments.sets.split(","), arguments.folds, arguments.queries)
    if not data:
        return
    accuracy, variance, speed = [], [], []
    mean_area: dict[str, float] = {}
    areas: dict[str, dict[str, float]] = {name: {} for name in data}
    for construction in CONSTRUCTIONS:
        found = {name: compare(arguments.setting, construction, parts) for name, parts in data.items()}
        mean = mean_area[construction] = float(np.mean([area for _, area, _, _ in found.values()]))
        for name, (_, area, _, _) in found.items():
            areas[name][construction] = area
        accuracy.append([construction, *(text for text, *_ in found.values()), f"{mean:.2f}"])
        speed.append([construction, *(f"{seconds:.2f} s" for _, _, seconds, _ in found.values())])
        for name, (*_, levels) in found.items():
            variance.append([name, construction, " ".join(f"{value:.3f}" for value in levels)])
        print(*accuracy[-1], sep=" | ", file=sys.stderr, flush=True)
    title = f"setting {arguments.setting}: area / max over 200 steps, {arguments.folds} of {FOLDS} folds, up to {arguments.queries} queries each ({machine()})"
    best = {name: max(of, key=lambda construction: of[construction]) for name, of in areas.items()}
    print_table(title, ["construction", *data, "mean area"], accuracy, rank(mean_area, best))
    print_table("processor time to build, one fold", ["construction", *data], speed)
    print_table(
        "mean variance of an entry on levels 1, 2, … (the roots last), in units of the variance of the class",
        ["set", "construction", "levels"],
        sorted(variance),
    )


if __name__ == "__main__":
    main()
