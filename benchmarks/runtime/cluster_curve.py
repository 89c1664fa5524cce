"""Ten million records a second on clusters of 8 to 128 workers, one of which is lost; in simulated time.

The costs are given, not measured, so that the figures are the same everywhere:
    python -m benchmarks.runtime.cluster_curve --plot docs/pictures/cluster.png
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits

from anystream import BayesTreeClassifier
from anystream.cli.cluster_report import plot_clusters
from anystream.cli.cluster_run import ClusterResult, simulate_clusters
from anystream.runtime import (
    ClusterFaults,
    ClusterLayout,
    ClusterSimulation,
    DeadlineShare,
    MachineCost,
    RecordedAnswers,
    Traffic,
    WorkerSettings,
)
from benchmarks.table import machine

WORKERS = (8, 12, 14, 16, 24, 32, 64, 128)
MAX_STEPS = 200


def make_scheduler():
    return DeadlineShare(max_steps=MAX_STEPS)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plot")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    model = BayesTreeClassifier(random_state=0).fit(X[::2], y[::2])
    faults = ClusterFaults()
    simulation = ClusterSimulation(
        answers=RecordedAnswers.record(model, X[1::2], y[1::2], max_steps=MAX_STEPS),
        traffic=Traffic(np.full(10, 1e7), 1.0),
        cost=MachineCost(call_s=30e-6, record_s=1e-6, step_s=0.3e-6),
        make_scheduler=make_scheduler,
        settings=WorkerSettings(within_s=0.05),
        faults=faults,
        seed=options.seed,
    )
    layouts = [ClusterLayout.draw(n, faults, seed=options.seed) for n in WORKERS]
    figures = simulate_clusters(simulation, layouts)
    print(
        f"digits, 10 s at 10,000,000 records/s, within 50 ms, seed {options.seed}; {simulation.cost}; {faults}; "
        f"{machine()}"
    )
    print(
        "| workers | busiest at budget 0 | on time | steps | p99 waiting | accuracy | on time, one lost | recovery | accuracy after it |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for found in figures:
        before, after = found.undisturbed, found.after_recovery
        recovery = "-" if found.recovery_s is None else f"{found.recovery_s:.2f} s"
        print(
            f"| {found.n_workers} | {found.busiest_at_budget_0:.0%} | {before.on_time:.2%} | {before.steps:.1f} "
            f"| {before.wait_p99_s * 1e3:.0f} ms | {before.accuracy:.4f} | {found.with_loss.on_time:.2%} | {recovery} "
            f"| {'-' if after is None else f'{after.accuracy:.4f}'} |"
        )
    if options.plot:
        plot_clusters(ClusterResult(simulation, MAX_STEPS, figures, 0.99), options.plot)


if __name__ == "__main__":
    main()
