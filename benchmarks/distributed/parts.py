"""Accuracy of the Bayes tree fitted on eight parts against a fit on the whole: ``python -m benchmarks.distributed.parts``."""

import sys
import time

import numpy as np

from anystream import BayesTreeClassifier
from anystream.distributed import fit
from anystream.streams import load_dataset
from benchmarks.table import machine, print_table

SETS = {"pendigits": 7_494, "letter": 15_000, "covtype": 100_000}
BUDGETS = (0, 5, 20, 50, 200)
N_PARTS, N_TESTED, SEED = 8, 5_000, 1


def main(names):
    rows = []
    for name in names:
        data = load_dataset(name)
        order = np.random.default_rng(SEED).permutation(len(data.y))
        train, test = order[: SETS[name]], order[SETS[name] :][:N_TESTED]
        parts = [(data.X[train[part::N_PARTS]], data.y[train[part::N_PARTS]]) for part in range(N_PARTS)]
        for how, make in (
            ("whole", lambda: BayesTreeClassifier().fit(data.X[train], data.y[train])),
            ("8 parts", lambda: fit(BayesTreeClassifier(), parts)),
            ("8 parts, side by side", lambda: fit(BayesTreeClassifier(), parts, rebuild=False)),
        ):
            started = time.perf_counter()
            model = make()
            seconds = time.perf_counter() - started
            right = [100 * (model.predict(data.X[test], budget=budget) == data.y[test]).mean() for budget in BUDGETS]
            rows.append((name, how, *(f"{share:.2f}" for share in right), f"{seconds:.1f}"))
    header = ("data set", "fitted on", *(f"{budget} steps" for budget in BUDGETS), "seconds")
    print_table("Accuracy in percent of a model of eight parts", header, rows, [machine(), f"seed {SEED}"])


if __name__ == "__main__":
    main(sys.argv[1:] or SETS)
