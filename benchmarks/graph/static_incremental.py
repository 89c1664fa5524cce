"""Figure 3 of KAOGINC's paper: the static graph of the first batch against the incremental graph, on SEA.

``python -m benchmarks.graph.static_incremental [--runs 20] [--noise 0] [--plot figure3.png]``
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.graph import KAOGClassifier, KAOGINCClassifier
from benchmarks.graph.protocol import PAIRS, THETAS, read_pairs, run_errors, run_in_parallel, sea
from benchmarks.table import machine

METHODS = ("static", "incremental (paper)", "incremental (default)")


def run(method: str, thetas: tuple[float, ...], noise: float, seed: int) -> NDArray[np.float64]:
    stream = sea(seed, thetas, noise)
    if method != "static":
        make = KAOGINCClassifier if method.endswith("(default)") else KAOGINCClassifier.paper
        return run_errors(make(n_jobs=1), stream)
    batches = list(read_pairs(stream))
    model = KAOGClassifier(n_jobs=1).fit(*batches[0][:2])
    return np.array([100.0 * float((model.predict(X) != y).mean()) for _, _, X, y in batches])


def plot_errors(curves: dict[tuple[str, str], NDArray[np.float64]], path: str, runs: int) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), layout="constrained")
    for axis, (panel, thetas) in zip(figure.subplots(1, len(THETAS), sharey=True).flat, THETAS.items(), strict=True):
        for method in METHODS:
            axis.plot(range(1, 4 * PAIRS + 1), curves[panel, method], label=method, linewidth=1.2)
        for concept in (1, 2, 3):
            axis.axvline(concept * PAIRS + 1, color="grey", linestyle=":", linewidth=1)
        axis.set_title(f"({panel}) theta = {', '.join(map(str, thetas))}")
        axis.set_xlabel("test batch (dotted: the first after a drift)")
        axis.set_ylabel("error, %")
    figure.axes[0].legend()
    figure.suptitle(f"SEA, batches of 80 and 60, mean of {runs} runs")
    figure.savefig(path, dpi=150)


def print_errors(curves: dict[tuple[str, str], NDArray[np.float64]]) -> None:
    print(f"{'thetas':18}{'method':24}{'mean':>7}   by concept{'':14}first tests after the drifts")
    for panel, thetas in THETAS.items():
        for method in METHODS:
            curve = curves[panel, method]
            concepts = " ".join(f"{part.mean():5.1f}" for part in np.split(curve, 4))
            after = "  ".join(" ".join(f"{e:.0f}" for e in curve[c * PAIRS : c * PAIRS + 4]) for c in (1, 2, 3))
            name = ", ".join(map(str, thetas)) if method == METHODS[0] else ""
            print(f"{name:18}{method:24}{curve.mean():7.2f}   {concepts}   {after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=4000)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--plot", help="write error over time to this file")
    options: Any = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.runs)
    jobs = [(m, t, options.noise, seed) for t in THETAS.values() for m in METHODS for seed in seeds]
    results = run_in_parallel(run, jobs, options.workers)
    curves = {
        (panel, method): np.mean(
            [errors for errors, (m, t, _, _) in zip(results, jobs, strict=True) if m == method and t == thetas], axis=0
        )
        for panel, thetas in THETAS.items()
        for method in METHODS
    }
    noise = f"{options.noise:.0%} noise"
    print(f"error in %, mean of {options.runs} runs, seeds from {options.first_seed}, {noise}; {machine()}")
    print_errors(curves)
    if options.plot:
        plot_errors(curves, options.plot, options.runs)


if __name__ == "__main__":
    main()
