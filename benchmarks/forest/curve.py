"""Accuracy over time per record: an imported forest at rising budgets, beside engines that always read all nodes.

    python -m benchmarks.forest.curve
    python -m benchmarks.forest.curve --plot docs/pictures/forest.png

Times are processor time of one thread for batches of 1,000 records; budgets are shares of the nodes of a record.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from anystream import AnytimeForestClassifier
from anystream.plotting import new_figure
from benchmarks.forest.engines import NotInstalled, fit_forest, make_engines
from benchmarks.runtime.on_time import split
from benchmarks.table import machine, print_table

SHARES = (1 / 100, 1 / 30, 1 / 10, 1 / 5, 1 / 3, 1.0)
BATCH, REPEATS = 1_000, 5


def measure(dataset: str, forest: str, order: str) -> tuple[list[tuple[int, float, float]], dict[str, Any], list[str]]:
    """Return steps, accuracy and seconds per record of our budgets, accuracy and seconds of the engines, and notes."""
    train, (records, labels) = split(dataset)
    model = fit_forest(forest, *train)
    ours = AnytimeForestClassifier.from_model(model, order=order, n_jobs=1)
    mean_steps = ours.classify(records[:BATCH], budget=ours.max_steps_).steps.mean()
    curve = []
    for share in SHARES:
        budget = ours.max_steps_ if share == 1 else max(round(share * mean_steps), 1)
        right = float((ours.predict(records, budget=budget) == labels).mean())
        curve.append((budget, right, _seconds(lambda: ours.predict(records[:BATCH], budget=budget))))
    engines, notes = make_engines(model, train[0].shape[1])
    right = float((model.predict(records) == labels).mean())
    points = {}
    for name, (predict, kind) in engines.items():
        rows = np.ascontiguousarray(records[:BATCH], kind)
        points[name] = (right, _seconds(lambda: predict(rows)))
    return curve, points, [f"{dataset}, {forest}: {mean_steps:,.0f} nodes per record", *notes]


def _seconds(work: Any) -> float:
    """Return the minimum processor time per record."""
    shortest = np.inf
    for _ in range(REPEATS):
        started = time.process_time()
        work()
        shortest = min(shortest, time.process_time() - started)
    return shortest / BATCH


def _draw(found: dict[str, Any], path: str) -> None:
    columns = min(len(found), 3)
    rows = -(-len(found) // columns)
    figure = new_figure(4.2 * columns, 3.4 * rows)
    panels = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for axes in panels[len(found) :]:
        axes.set_axis_off()
    for axes, (title, (curve, points)) in zip(panels, sorted(found.items(), reverse=True), strict=False):
        axes.plot(
            [1e6 * seconds for _, _, seconds in curve], [100 * right for _, right, _ in curve], "o-", label="anystream"
        )
        for marker, (name, (right, seconds)) in zip("sD^", points.items(), strict=False):
            axes.plot(1e6 * seconds, 100 * right, marker, label=name)
        axes.set(title=title, xlabel="microseconds per record", ylabel="accuracy, %")
        axes.set_xscale("log")
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="pendigits,letter,covtype", help="names, separated by commas")
    parser.add_argument("--forests", default="RandomForest,LightGBM", help="names, separated by commas")
    parser.add_argument("--order", default="auto", help="order of the nodes")
    parser.add_argument("--plot", help="draw the curves into this file")
    options = parser.parse_args()
    rows, notes, found = [], [f"order {options.order}; {machine()}"], {}
    for dataset in options.datasets.split(","):
        for forest in options.forests.split(","):
            print(f"{dataset}, {forest}", file=sys.stderr)
            try:
                curve, points, words = measure(dataset, forest, options.order)
            except NotInstalled as error:
                notes.append(f"{forest} is left out: {error}")
                continue
            found[f"{forest}, {dataset}"] = curve, points
            notes += [word for word in words if word not in notes]
            ours = [f"{100 * right:.1f} ({1e6 * seconds:.1f})" for _, right, seconds in curve]
            theirs = ", ".join(f"{name} {1e6 * seconds:.1f}" for name, (_, seconds) in points.items())
            rows.append([dataset, forest, *ours, theirs])
    shares = [f"1/{round(1 / share)} of the nodes" for share in SHARES[:-1]]
    header = ["data", "forest", *shares, "all", "others, always all"]
    print_table("Accuracy in % (processor time per record in us, batches of 1,000, one thread)", header, rows, notes)
    if options.plot and found:
        _draw(found, options.plot)


if __name__ == "__main__":
    main()
