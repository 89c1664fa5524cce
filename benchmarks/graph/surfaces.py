"""Figure 2 of KAOGINC's paper: the decision surfaces of 1-NN, 15-NN and KAOG on three classes, and their errors.

``python -m benchmarks.graph.surfaces [--plot figure2.png]``
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from anystream.graph import KAOGClassifier, plot_decision_surfaces
from benchmarks.table import machine

MODELS = {"1-NN": KNeighborsClassifier(1), "15-NN": KNeighborsClassifier(15), "KAOG": KAOGClassifier()}


def draw_three_classes(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw three overlapping curved clusters, with one record in twenty mislabelled."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    angle = random.uniform(0.0, 0.8 * np.pi, n) + 2.0 * np.pi / 3.0 * y
    X = np.column_stack([2.0 * np.cos(angle), 2.0 * np.sin(angle)]) + 0.45 * random.normal(size=(n, 2))
    wrong = random.random(n) < 0.05
    return X, np.where(wrong, (y + random.integers(1, 3, n)) % 3, y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", help="write the plot of the surfaces to this file")
    options = parser.parse_args()
    X, y = draw_three_classes(options.records, options.seed)
    queries, labels = draw_three_classes(20_000, options.seed + 1)
    print(f"error in % on 20,000 other records, {options.records} learned, seed {options.seed}; {machine()}")
    for name, model in MODELS.items():
        print(f"{name:8}{100.0 * (1.0 - model.fit(X, y).score(queries, labels)):6.2f}")
    if options.plot:
        plot_decision_surfaces(MODELS, X, y).savefig(options.plot, dpi=150)


if __name__ == "__main__":
    main()
