"""Speed of one forest in several engines: batches and single records, processor time of one thread, in one run.

python -m benchmarks.forest.speed
python -m benchmarks.forest.speed --datasets letter --forests RandomForest
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from anystream.streams import DatasetNotFoundError
from benchmarks.forest.engines import FORESTS, NotInstalled, fit_forest, import_forest, make_engines
from benchmarks.runtime.on_time import split
from benchmarks.table import print_table
from benchmarks.timing import race

BATCH = 1_000


def measure(dataset: str, forest: str) -> tuple[list[list[Any]], list[str]]:
    """Return a row per engine, and notes."""
    train, test = split(dataset)
    model = fit_forest(forest, *train)
    ours = import_forest(model)
    engines, notes = make_engines(model, train[0].shape[1])
    batch = np.ascontiguousarray(test[0][:BATCH])
    steps = float(ours.classify(batch, budget=ours.max_steps_).steps.mean())
    engines["anystream"] = (ours.predict_proba, np.float64)
    reference = model.predict_proba(batch)
    works, differs = {}, {}
    for name, (predict, kind) in engines.items():
        rows = batch.astype(kind)
        works[name] = (predict, rows)
        found = np.asarray(predict(rows)).reshape(len(rows), -1)
        wide = np.column_stack([1 - found, found]) if found.shape[1] == 1 else found
        differs[name] = float((wide.argmax(axis=1) != reference.argmax(axis=1)).mean())
    batch_s, single_s = race(works)
    fastest = min(seconds for name, seconds in batch_s.items() if name != "anystream")
    quickest = min(seconds for name, seconds in single_s.items() if name != "anystream")
    lines = [
        [
            dataset,
            forest,
            name,
            f"{len(batch) / batch_s[name]:,.0f}",
            f"{fastest / batch_s[name]:.2f}",
            f"{1e6 * single_s[name]:.1f}",
            f"{single_s[name] / quickest:.2f}",
            f"{1e9 * batch_s[name] / len(batch) / steps:.2f}",
            f"{differs[name]:.1%}",
        ]
        for name in works
    ]
    return lines, [f"{dataset}, {forest}: {steps:,.0f} nodes per record", *notes]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="pendigits,letter,covtype", help="names, separated by commas")
    parser.add_argument("--forests", default=",".join(FORESTS), help="names, separated by commas")
    options = parser.parse_args()
    rows, notes = [], [f"batches of {BATCH:,}; at most 20,000 training records, seed 0"]
    for dataset in options.datasets.split(","):
        for forest in options.forests.split(","):
            print(f"{dataset}, {forest}", file=sys.stderr)
            try:
                lines, words = measure(dataset, forest)
            except (DatasetNotFoundError, NotInstalled) as error:
                notes.append(f"{dataset}, {forest} is left out: {error}")
                continue
            rows += lines
            notes += [word for word in words if word not in notes]
    header = ["data", "forest", "engine", "records/s", "of the fastest peer", "one record, us", "of the quickest peer"]
    header += ["ns per node", "other labels"]
    print_table("One forest in several engines, one thread, processor time, all nodes read", header, rows, notes)


if __name__ == "__main__":
    main()
