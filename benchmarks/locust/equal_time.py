"""Figure 2 of the LOCUST paper: LOCUST and the On-Demand classifier at the same time per answer.

Time is the processor time of one thread for a batch of answers from the finished model, one clock for both. LOCUST at 30
samples meets On-Demand with as many clusters as take the same time; On-Demand with 1000 clusters meets LOCUST with the
most samples that take no longer.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from anystream.microclusters import MicroClusterClassifier
from anystream.subspace import LocustClassifier
from benchmarks.locust.protocol import Classifier, run, time_per_record
from benchmarks.locust.streams import STREAMS, Stream, load_stream
from benchmarks.table import machine, print_table

ALL = 10**6  # steps: more than there are clusters
SAMPLES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def matched(stream: Stream, make: Callable[..., Any]) -> tuple[int, float, int, float]:
    """As many clusters as take the time of 30 samples, that time in us; the samples of 1000 clusters, and their time."""
    queries = stream.X[-4000:]
    past = slice(max(-44_000, -len(stream.X)), -4000)
    locust = make(n_jobs=1, max_samples=ALL).fit(stream.X[past], stream.y[past])
    rival = MicroClusterClassifier(n_clusters=1000, n_jobs=1).fit(stream.X[past], stream.y[past])
    thirty, thousand = time_per_record(locust, queries, 30), time_per_record(rival, queries, ALL)
    clusters = max(10, int(float(f"{1000 * thirty / thousand:.2g}")))  # time is proportional to the clusters
    samples = max((n for n in SAMPLES if time_per_record(locust, queries, n) <= thousand), default=1)
    return clusters, thirty, samples, thousand


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="ask five times as many records")
    parser.add_argument("--streams", nargs="+", default=["covtype", "kdd"], choices=STREAMS)
    parser.add_argument("--published", action="store_true", help="LocustClassifier.paper() instead of the default")
    given = parser.parse_args()
    make = LocustClassifier.paper if given.published else LocustClassifier
    for name in given.streams:
        if (stream := load_stream(name)) is None:
            continue
        classes = np.unique(stream.y)
        clusters, thirty, samples, thousand = matched(stream, make)
        rows, ahead = [], []
        for by_block in (True, False):
            contestants = {
                "locust": Classifier(make(max_samples=ALL), sorted({samples, 30}), classes),
                "matched": Classifier(MicroClusterClassifier(n_clusters=clusters), [ALL], classes),
                "thousand": Classifier(MicroClusterClassifier(n_clusters=1000), [ALL], classes),
            }
            results, half = run(stream, contestants, by_block=by_block, thin=1 if given.full else 5)
            for part, where in (("first", slice(0, half)), ("second", slice(half, None))):
                figures = [
                    results["locust"].accuracy("30", where),
                    results["matched"].accuracy(str(ALL), where),
                    results["locust"].accuracy(str(samples), where),
                    results["thousand"].accuracy(str(ALL), where),
                ]
                ahead += [figures[0] > figures[1], figures[2] > figures[3]]
                way = f"by block of {stream.block}" if by_block else "chunks of 200"
                rows.append([f"{way}, {part} half", *(f"{figure:.1f}" for figure in figures)])
        print_table(
            f"{name}: accuracy (%) of {'the published' if given.published else 'our'} LOCUST and On-Demand at the same time",
            [
                f"at {thirty:.1f} us:",
                "LOCUST, 30 samples",
                f"On-Demand, {clusters} clusters",
                f"at {thousand:.1f} us: LOCUST, {samples} samples",
                "On-Demand, 1000 clusters",
            ],
            rows,
            [f"LOCUST is ahead in {sum(ahead)} of {len(ahead)} comparisons", f"seed 0, one thread; {machine()}"],
        )


if __name__ == "__main__":
    main()
