"""How long the orderings take, and what learning one by one costs and keeps."""

import argparse
import time

import numpy as np

from anystream.neighbors import AnytimeNeighborsClassifier
from benchmarks.table import machine, print_table

SIZES = [("JF", 2000, 2, 2), ("letter", 20_000, 16, 26), ("covtype", 11_340, 54, 7)]


def mixture(n: int, d: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4 * classes, d)) * (2.0 if d > 2 else 4.0)
    component = rng.integers(4 * classes, size=n)
    return centres[component] + rng.normal(size=(n, d)), component % classes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orderings", nargs="+", default=["simple_rank", "greedy", "drop3"])
    arguments = parser.parse_args()
    rows = []
    for name, n, d, classes in SIZES:
        X, y = mixture(n + 2000, d, classes, seed=0)
        for ordering in arguments.orderings:
            started, cpu = time.perf_counter(), time.process_time()
            model = AnytimeNeighborsClassifier(ordering=ordering).fit(X[:n], y[:n])
            taken, used = time.perf_counter() - started, time.process_time() - cpu
            early = (model.predict(X[n:], budget=100) == y[n:]).mean()
            rows.append([f"size of {name}", f"{n} x {d}", ordering, f"{taken:.2f}", f"{used:.2f}", f"{early:.3f}"])
        started = time.process_time()
        model.partial_fit(X[n : n + 500], y[n : n + 500])
        each = (time.process_time() - started) / 500
        rows.append([f"size of {name}", f"{n} x {d}", "partial_fit, each", "", f"{each:.6f}", ""])
    header = ["set", "size", "ordering", "seconds", "CPU seconds", "right at 100 steps"]
    print_table(
        "Orderings", header, rows, [machine(), "mixtures of Gaussians, seed 0; the paper: 53.7 minutes for covtype"]
    )


if __name__ == "__main__":
    main()
