"""Figure 2 of the LOCUST paper: LOCUST and the On-Demand classifier at the same time per answer.

Time is the processor time of one thread for a batch of answers from the finished model, one clock for both; LOCUST gets
the most samples whose time stays below that of On-Demand.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.microclusters import MicroClusterClassifier
from anystream.subspace import LocustClassifier
from benchmarks.locust.protocol import Classifier, run
from benchmarks.locust.streams import load_stream
from benchmarks.table import machine, print_table


def time_per_answer(model: Any, queries: NDArray[np.float64], budget: int) -> float:
    """Microseconds, the least of several runs."""
    best = np.inf
    for _ in range(7):
        began = time.process_time()
        model.classify(queries, budget=budget)
        best = min(best, time.process_time() - began)
    return best / len(queries) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="ask five times as many records")
    thin = 1 if parser.parse_args().full else 5
    for name in ("covtype", "kdd"):
        if (stream := load_stream(name)) is None:
            continue
        rows = []
        classes = np.unique(stream.y)
        queries = stream.X[-4000:]
        past = slice(-104_000, -4000)
        locust = LocustClassifier(n_jobs=1, max_samples=10**6).fit(stream.X[past], stream.y[past])
        curve = {n: time_per_answer(locust, queries, n) for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)}
        for q in (200, 1000):
            rival = MicroClusterClassifier(n_clusters=q, n_jobs=1).fit(stream.X[past], stream.y[past])
            its_time = time_per_answer(rival, queries, 10**6)
            samples = max([n for n, its in curve.items() if its <= its_time], default=1)
            for by_block in (True, False):
                contestants = {
                    "locust": Classifier(LocustClassifier(max_samples=10**6), [samples, 30], classes),
                    "rival": Classifier(MicroClusterClassifier(n_clusters=q), [10**6], classes),
                }
                results, half = run(stream, contestants, by_block=by_block, thin=thin)
                for part, where in (("first", slice(0, half)), ("second", slice(half, None))):
                    rows.append(
                        [
                            f"{'by block' if by_block else 'chunks of 200'}, {part} half",
                            q,
                            f"{its_time:.1f}",
                            f"{results['rival'].accuracy('1000000', where):.1f}",
                            samples,
                            f"{curve[samples]:.1f}",
                            f"{results['locust'].accuracy(str(samples), where):.1f}",
                            f"{results['locust'].accuracy('30', where):.1f}",
                        ]
                    )
        print_table(
            f"{name}: LOCUST and On-Demand at the same time per answer",
            ["protocol", "clusters", "us", "On-Demand %", "samples", "us", "LOCUST %", "LOCUST % at 30 samples"],
            rows,
            [f"seed 0, one thread; {machine()}"],
        )


if __name__ == "__main__":
    main()
