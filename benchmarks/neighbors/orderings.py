"""Duration of the orderings, and cost and accuracy of learning record by record."""

import argparse
import time

import numpy as np

from anystream.neighbors import AnytimeNeighborsClassifier
from benchmarks.table import machine, print_table

SIZES = [("JF", 2000, 2, 2), ("letter", 20_000, 16, 26), ("covtype", 11_340, 54, 7)]
LARGE = ("covtype, larger", 60_000, 50, 7)  # by SimpleRank alone


def draw_mixture(n: int, d: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4 * classes, d)) * (2.0 if d > 2 else 4.0)
    component = rng.integers(4 * classes, size=n)
    return centres[component] + rng.normal(size=(n, d)), component % classes


def learn_model(parameters: dict, X: np.ndarray, y: np.ndarray, fitted_share: float) -> AnytimeNeighborsClassifier:
    """Return a model of which a share was fitted and the rest learned one by one."""
    model = AnytimeNeighborsClassifier(**parameters)
    n = round(fitted_share * len(y))
    if n > 0:
        model.fit(X[:n], y[:n])
    if n < len(y):
        model.partial_fit(X[n:], y[n:])
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orderings", nargs="+", default=["random", "simple_rank", "greedy", "drop3"])
    arguments = parser.parse_args()
    forms = [(ordering, {"ordering": ordering}, 1.0) for ordering in arguments.orderings]
    for search in ("ordered", "inverted"):
        forms.append((f"{search}, half by partial_fit", {"search": search}, 0.5))
        forms.append((f"{search}, all by partial_fit", {"search": search}, 0.0))
    rows = []
    for name, n, d, classes in [*SIZES, LARGE]:
        X, y = draw_mixture(n + 2000, d, classes, seed=0)
        for form, parameters, fitted_share in forms:
            if name == LARGE[0] and form != "simple_rank":
                continue
            started, cpu_started = time.perf_counter(), time.process_time()
            model = learn_model(parameters, X[:n], y[:n], fitted_share)
            elapsed_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu_started
            accuracy = [f"{(model.predict(X[n:], budget=steps) == y[n:]).mean() * 100:.1f}" for steps in (20, 100)]
            rows.append([f"size of {name}", f"{n} x {d}", form, f"{elapsed_s:.2f}", f"{cpu_s:.2f}", *accuracy])
    header = ["set", "size", "learned by", "seconds", "CPU seconds", "accuracy at 20 (%)", "at 100"]
    notes = [machine(), "mixtures of Gaussians, seed 0; the paper: 53.7 minutes for covtype"]
    print_table("Orderings", header, rows, notes)


if __name__ == "__main__":
    main()
