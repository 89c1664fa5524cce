"""LOCUST beside its rivals on streams and orders that took no part in choosing its defaults.

The defaults were looked for on the first halves of covtype and kdd, in order and with their blocks shuffled, and on
shuffled data sets that are no streams (letter, pendigits, optdigits, segment, usps, spambase, page blocks). The second
halves, the reversed streams and the others took no part; but that the memory of a class must survive long runs of others
was first seen on the second half of kdd.
"""

from __future__ import annotations

import argparse

import numpy as np

from anystream.microclusters import MicroClusterClassifier
from anystream.subspace import LocustClassifier
from benchmarks.locust.protocol import Classifier, LastLabel, NearestOfWindow, ScaledBeforehand, run
from benchmarks.locust.streams import STREAMS, load_stream
from benchmarks.table import machine, print_table

SAMPLES = [1, 3, 10, 30, 100]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="ask five times as many records")
    parser.add_argument("--streams", nargs="+", default=STREAMS, choices=STREAMS)
    parser.add_argument("--protocols", nargs="+", default=["block", "chunks"], choices=["block", "chunks"])
    given = parser.parse_args()
    for by_block in [protocol == "block" for protocol in given.protocols]:
        rows = []
        for name in given.streams:
            if (stream := load_stream(name)) is None:
                continue
            classes = np.unique(stream.y)
            contestants = {
                "locust": Classifier(LocustClassifier(), SAMPLES, classes),
                "categories": Classifier(
                    LocustClassifier(categorical=stream.categorical or None), SAMPLES[3:4], classes
                ),
                "delay": Classifier(LocustClassifier(label_delay=stream.block), SAMPLES[3:4], classes),
                "on-demand 200": Classifier(MicroClusterClassifier(n_clusters=200), [10**6], classes),
                "on-demand 1000": Classifier(MicroClusterClassifier(n_clusters=1000), [10**6], classes),
                "on-demand scaled": ScaledBeforehand(
                    Classifier(MicroClusterClassifier(n_clusters=1000, standardise=False), [10**6], classes), stream.X
                ),
                "1-nn": NearestOfWindow(),
                "no change": LastLabel(),
            }
            if not stream.categorical:
                del contestants["categories"]
            results, half = run(stream, contestants, by_block=by_block, thin=1 if given.full else 5)
            parts: dict[str, slice | None] = {name: None}
            if name in ("covtype", "kdd"):
                parts = {f"{name}, first half (chosen on)": slice(half), f"{name}, second half": slice(half, None)}
            for label, where in parts.items():
                cells = [results["locust"].accuracy(str(n), where) for n in SAMPLES]
                cells.append(results["categories"].accuracy("30", where) if "categories" in results else np.nan)
                cells.append(results["delay"].accuracy("30", where))
                cells += [results[f"on-demand {q}"].accuracy("1000000", where) for q in (200, 1000, "scaled")]
                cells += [results[rival].accuracy("", where) for rival in ("1-nn", "no change")]
                rows.append([label, *("-" if np.isnan(cell) else f"{cell:.1f}" for cell in cells)])
        print_table(
            f"Accuracy (%), {'by block' if by_block else 'in chunks of 200'}: LOCUST by number of samples, and rivals",
            [
                "",
                *map(str, SAMPLES),
                "30, categories",
                "30, delay",
                "On-Demand 200",
                "1000",
                "1000, scaled",
                "1-NN of 5000",
                "no change",
            ],
            rows,
        )
    print("- categories: the same model, told which columns are categorical; delay: with label_delay = the block size")
    print("- scaled: On-Demand with the standard deviations of the whole stream, which nobody knows in time")
    print(f"- seed 0; {machine()}")


if __name__ == "__main__":
    main()
