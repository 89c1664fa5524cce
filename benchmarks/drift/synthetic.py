"""Error and recovery on SEA, Sine and moving Gaussians: Figures 4 to 6 of KAOGINC's paper, with more methods.

    python -m benchmarks.drift.synthetic [--full] [--only NAME ...] [--plot FOLDER]

Labelled batches of 80 records and test batches of 60 in turn, four concepts of 20 test batches; each drift is between a
labelled batch and its test batch, so the first test after it comes before any record of the new concept was learned.
Cells: mean error in % ± standard error over the seeds, and in brackets the number of test batches until the mean curve
was within 2 points of its level before, for each of the three drifts (-: not before the next). The bound is the Bayes
rule of the concept of the newest labelled record. By default 5 seeds (1 for the slow forests); --full: 20 for all.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from anystream.evaluate import Comparison, Run, run_interleaved
from anystream.streams import SEA, Sine
from benchmarks.drift.methods import Method, choose_methods, make_model
from benchmarks.graph.protocol import LEARNED, LENGTH, TESTED, gauss, sea, sine
from benchmarks.table import machine, print_table

SIZES = {"train_size": LEARNED, "test_size": TESTED}
FIRST_SEED = 3000  # defaults were not tuned on these
STREAMS: dict[str, Callable[[int], Any]] = {
    "SEA": lambda seed: sea(seed, noise=0.0),
    "SEA, 10 % noise": sea,
    "Sine": sine,
    "Gauss": gauss,
}


class BayesRule:
    """The Bayes rule of the concept of the newest labelled record."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.learned = stream, 0

    def partial_fit(self, X: np.ndarray, y: np.ndarray) -> BayesRule:
        self.learned += len(y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        pairs = self.learned // LEARNED
        concept = self.stream.concept_at(self.learned + (pairs - 1) * TESTED - 1)
        if isinstance(self.stream, SEA):
            return (X[:, 0] + X[:, 1] > concept).astype(int)
        if isinstance(self.stream, Sine):
            curve = np.sin(X[:, 0]) if concept.startswith("sine1") else 0.5 + 0.3 * np.sin(3 * np.pi * X[:, 0])
            return np.where(concept.endswith("_reversed"), X[:, 1] >= curve, X[:, 1] < curve).astype(int)
        wide = ((X - [2.0, 0.0]) ** 2).sum(axis=1) / 32 + np.log(16)  # minus the log of the density, up to a constant
        narrow = (X**2).sum(axis=1) / 2 < wide
        return np.where(concept == "swapped", ~narrow, narrow).astype(int)


def run_all(methods: list[Method], seeds: int, slow_seeds: int) -> tuple[Comparison, dict[str, float]]:
    runs: list[Run] = []
    cost: dict[str, float] = {}
    for name, make in STREAMS.items():
        for seed in range(FIRST_SEED, FIRST_SEED + seeds):
            run = run_interleaved(BayesRule(make(seed)), make(seed), **SIZES, method="bound")
            runs.append(replace(run, stream=name))
    for method in methods:
        started, done = time.process_time(), 0
        for name, make in STREAMS.items():
            for seed in range(FIRST_SEED, FIRST_SEED + (slow_seeds if method.slow else seeds)):
                model = make_model(method, LEARNED)
                noted = hasattr(model, "note_classified")
                run = run_interleaved(model, make(seed), **SIZES, note_classified=noted, method=method.name)
                runs.append(replace(run, stream=name))
                done += LENGTH
        cost[method.name] = (time.process_time() - started) / done * 1e6
    return Comparison(tuple(runs)), cost


def format_cell(result: Comparison, method: str, stream: str) -> str:
    mean, spread = (100 * value for value in result.mean_error(method, stream))
    recoveries = result.recoveries(method, stream).values()
    times = ",".join(str(recovery.n_points) if recovery.recovered else "-" for recovery in recoveries)
    error = f"{mean:.2f}" if np.isnan(spread) else f"{mean:.2f} ± {spread:.2f}"
    return error if method == "bound" else f"{error} ({times})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="20 seeds for every method")
    parser.add_argument("--seeds", type=int, help="number of seeds, also for slow methods")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="methods whose name contains one of these")
    parser.add_argument(
        "--plot", type=Path, metavar="FOLDER", help="also draw the mean error curves (needs matplotlib)"
    )
    options = parser.parse_args()
    methods, missing = choose_methods(options.only)
    seeds = options.seeds or (20 if options.full else 5)
    result, cost = run_all(methods, seeds, options.seeds or (20 if options.full else 1))
    rows = [
        [name, *(format_cell(result, name, stream) for stream in STREAMS), f"{cost[name]:.0f}" if name in cost else ""]
        for name in result.methods
    ]
    best = [
        f"lowest error on {stream}: {min(cost, key=lambda m: result.mean_error(m, stream)[0])}"
        for stream in STREAMS  # among those that ran
    ]
    last = FIRST_SEED + seeds - 1
    print_table(
        f"Error (%) and recovery, seeds {FIRST_SEED}-{last}",
        ["", *STREAMS, "CPU µs per record"],
        rows,
        [*best, *missing, "slow methods run on fewer seeds unless --full", machine()],
    )
    if options.plot:
        options.plot.mkdir(parents=True, exist_ok=True)
        for stream in STREAMS:
            axes = result.plot(stream, [m for m in result.methods if m != "bound"])
            axes.figure.savefig(options.plot / f"{stream.split(',')[0].lower()}_{len(stream)}.png", dpi=150)


if __name__ == "__main__":
    main()
