"""Accuracy of the Bayes tree fitted on eight parts against a fit on the whole: ``python -m benchmarks.distributed.parts``.

Each data set is shuffled by several seeds, and every fit uses the same seed for its choices. A row has the mean, and in
parentheses the standard deviation, over these seeds.
"""

import argparse
import os
import sys
import time

import numpy as np

from anystream import BayesTreeClassifier
from anystream.distributed import fit
from anystream.streams import load_dataset
from benchmarks.table import machine, print_table

SETS = {"pendigits": 7_494, "letter": 15_000, "covtype": 100_000}
BUDGETS = (0, 5, 20, 50, 200)
N_PARTS, N_TESTED = 8, 5_000


def measure(data, n_trained, seed):
    """Return accuracies in percent by budget, seconds, CPU seconds and metric, by the way of fitting."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    train, test = order[:n_trained], order[n_trained:][:N_TESTED]
    parts = [(data.X[train[part::N_PARTS]], data.y[train[part::N_PARTS]]) for part in range(N_PARTS)]
    estimator = BayesTreeClassifier(random_state=seed)
    found = {}
    for how, make in (
        ("whole", lambda: estimator.fit(data.X[train], data.y[train])),
        ("8 parts", lambda: fit(estimator, parts)),
        ("8 parts, side by side", lambda: fit(estimator, parts, rebuild=False)),
    ):
        started, cpu_before = time.perf_counter(), _cpu_s()
        model = make()
        costs = time.perf_counter() - started, _cpu_s() - cpu_before
        right = [100 * (model.predict(data.X[test], budget=budget) == data.y[test]).mean() for budget in BUDGETS]
        found[how] = (*right, *costs), model.recipe_.metric
        figures = " ".join(f"{figure:.2f}" for figure in found[how][0])
        print(f"seed {seed}, {how}: {figures} {model.recipe_.metric}", file=sys.stderr, flush=True)
    return found


def _cpu_s():
    """CPU time of this process and of those that it has ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SETS), help=f"some of {', '.join(SETS)}")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    given = parser.parse_args()
    rows = []
    for name in given.names:
        data = load_dataset(name)
        runs = [measure(data, SETS[name], seed) for seed in range(1, given.seeds + 1)]
        for how in runs[0]:
            figures = np.array([run[how][0] for run in runs])
            *right, seconds, cpu = zip(figures.mean(axis=0), figures.std(axis=0), strict=True)
            cells = [f"{mean:.2f} ({spread:.2f})" for mean, spread in right]
            metrics = ", ".join(str(run[how][1]) for run in runs)
            rows.append((name, how, *cells, f"{seconds[0]:.0f}", f"{cpu[0]:.0f}", metrics))
    header = ("data set", "fitted on", *(f"{budget} steps" for budget in BUDGETS), "seconds", "CPU seconds", "metrics")
    notes = [machine(), f"mean (standard deviation) over {given.seeds} seeds"]
    print_table("Accuracy in percent of a model of eight parts", header, rows, notes)


if __name__ == "__main__":
    main()
