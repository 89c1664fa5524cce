"""KAOGINC on drifting streams: the default, each of its additions switched off in turn, and the variant of the paper.

``python -m benchmarks.graph.additions [--runs 20] [--first-seed 3000] [--workers 2]``
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from anystream.graph import KAOGINCClassifier
from benchmarks.graph.protocol import STREAMS, format_mean_error, run_errors, run_in_parallel
from benchmarks.table import machine

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "without K floors": {"k_floors": (0.0,)},
    "without feature weights": {"metric": "scaled"},
    "without scaling and weights": {"metric": "plain"},
    "without moments": {"moments": False},
    "isolated vertices dropped": {"isolated": "drop"},
    "restart at a change": {"on_change": "restart"},
    "changes ignored": {"on_change": "ignore"},
    "without the missed-change rule": {"missed_changes": False},
    "with repeated pruning": {"pruning": "repeated"},
    "with tau = 300": {"tau": 300},
}
PAPER_VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "paper, pruning in one pass, tau 120": {"pruning": "once", "tau": 120},
    "paper, learned records count": {"tau_counts": "learned"},
    "paper, without tau": {"tau": None},
}
TARGETS = {"Sine": 6.0, "SEA 10 %": 14.5, "Gauss": 13.7}


def run(variant: str, stream: str, seed: int) -> tuple[float, float]:
    if variant in VARIANTS:
        model = KAOGINCClassifier(n_jobs=1, **VARIANTS[variant])
    else:
        model = KAOGINCClassifier.paper(n_jobs=1, **PAPER_VARIANTS[variant])
    started = time.process_time()
    return float(run_errors(model, STREAMS[stream](seed)).mean()), time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="names of the variants to run")
    options = parser.parse_args()
    variants = options.only or [*VARIANTS, *PAPER_VARIANTS]
    seeds = range(options.first_seed, options.first_seed + options.runs)
    print(f"error in %, mean ± standard error of {options.runs} runs, seeds from {options.first_seed}; {machine()}")
    print(f"{'':36}" + "".join(f"{name:>16}" for name in STREAMS) + f"{'us/record':>11}")
    print(f"{'target':36}" + "".join(f"{TARGETS[name]:16.1f}" for name in STREAMS))
    for variant in variants:
        jobs = [(variant, stream, seed) for stream in STREAMS for seed in seeds]
        results = run_in_parallel(run, jobs, options.workers)
        cells = [
            format_mean_error([error for (_, name, _), (error, _) in zip(jobs, results, strict=True) if name == stream])
            for stream in STREAMS
        ]
        cost = sum(seconds for _, seconds in results) / len(results) / (4 * 20 * 140) * 1e6
        print(f"{variant:36}" + "".join(f"{cell:>16}" for cell in cells) + f"{cost:11.0f}", flush=True)


if __name__ == "__main__":
    main()
