"""Points of accuracy that a tenth of a forest's nodes costs: by order, and with early stops at a stated confidence.

    python -m benchmarks.forest.tenth
    python -m benchmarks.forest.tenth --datasets letter --forests RandomForest --splits 2

Every record gets a tenth of the nodes in the columns of orders. With a confidence, easy records end early and hard ones
read on: the share of the nodes is a mean. Orders and leads are chosen on 2,000 records that neither trained nor judged.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from anystream import AnytimeForestClassifier, Budget
from anystream.streams import load_dataset
from benchmarks.forest.engines import NotInstalled, fit_forest
from benchmarks.table import machine, print_table

CONFIDENCES = (0.97, 0.98, 0.99)
N_CHOOSING, MAX_TRAINING, MAX_JUDGING = 2_000, 20_000, 10_000


def measure(dataset: str, forest: str, seed: int) -> dict[str, tuple[float, float]]:
    """Return, by column, the points of accuracy below all nodes, and the share of the nodes in percent."""
    data = load_dataset(dataset)
    order = np.random.default_rng(seed).permutation(len(data.y))
    X, y = np.asarray(data.X, dtype=np.float64)[order], data.y[order]
    n = min(len(y) * 2 // 3, MAX_TRAINING)
    rows = np.split(np.arange(len(y)), [n - N_CHOOSING, n, n + MAX_JUDGING])
    train, choose, judge = ((X[part], y[part]) for part in rows[:3])
    model = fit_forest(forest, *train)
    every = AnytimeForestClassifier.from_model(model).classify(judge[0], budget=Budget())
    n_nodes = every.steps.mean()

    def lost(answer: Any) -> tuple[float, float]:
        wrong = np.mean(every.labels == judge[1]) - np.mean(answer.labels == judge[1])
        return 100 * float(wrong), 100 * float(answer.steps.mean() / n_nodes)

    own = "contenders" if forest != "RandomForest" and len(np.unique(y)) > 2 else "gain"
    found = {}
    for name in ("training", own):
        ordered = AnytimeForestClassifier.from_model(model, order=name)
        if name == "gain":
            ordered.order_on(*choose)
        found[name] = lost(ordered.classify(judge[0], budget=round(n_nodes / 10)))
    for confidence in CONFIDENCES:
        early = AnytimeForestClassifier.from_model(model, confidence=confidence).calibrate_on(choose[0])
        found[f"confidence={confidence}"] = lost(early.classify(judge[0], budget=early.max_steps_))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="pendigits,letter,covtype", help="names, separated by commas")
    parser.add_argument("--forests", default="RandomForest,LightGBM", help="names, separated by commas")
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    rows, notes = [], [f"mean over {options.splits} splits; {machine()}"]
    for dataset in options.datasets.split(","):
        for forest in options.forests.split(","):
            print(f"{dataset}, {forest}", file=sys.stderr)
            try:
                found = [measure(dataset, forest, seed) for seed in range(options.splits)]
            except NotInstalled as error:
                notes.append(f"{forest} is left out: {error}")
                continue
            for column in found[0]:
                points, shares = np.array([each[column] for each in found]).T
                lost = f"{points.mean():.2f} ± {points.std():.2f}"
                rows.append([dataset, forest, column, f"{shares.mean():.1f}", lost])
    header = ["data", "forest", "order or early stop", "nodes, %", "points below all nodes"]
    print_table("Accuracy at a part of the nodes", header, rows, notes)


if __name__ == "__main__":
    main()
