"""The LOCUST paper's rules as printed, and each of our departures alone: accuracy on covtype and kdd by block.

Every twentieth record is tested before its block is learned.
"""

from __future__ import annotations

import argparse

import numpy as np

from anystream.subspace import BlockLocustClassifier, LocustClassifier
from benchmarks.locust.protocol import Classifier, run
from benchmarks.locust.streams import load_stream
from benchmarks.table import machine, print_table

SAMPLES = [1, 2, 10, 30, 100]
STREAMS = ["covtype", "kdd"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", nargs="+", default=STREAMS, choices=STREAMS)
    parser.add_argument("--thin", type=int, default=1, help="test one of so many of the tested records")
    given = parser.parse_args()
    models = {
        "`LocustClassifier.paper()`, all as printed": LocustClassifier.paper,
        'with `bias="adaptive"`': lambda: LocustClassifier.paper(bias="adaptive"),
        'with `failed="fallback"`': lambda: LocustClassifier.paper(failed="fallback"),
        'with `failed="silent"`, the text': lambda: LocustClassifier.paper(failed="silent"),
        'with `empty="skip"`': lambda: LocustClassifier.paper(empty="skip"),
        "`BlockLocustClassifier()`, all three": BlockLocustClassifier,
    }
    streams = [stream for name in given.streams if (stream := load_stream(name)) is not None]
    columns = []
    for stream in streams:
        classes = np.unique(stream.y)
        contestants = {name: Classifier(make(), SAMPLES, classes) for name, make in models.items()}
        results, _ = run(stream, contestants, by_block=True, thin=given.thin)
        columns.append([[f"{results[name].accuracy(str(n)):.1f}" for n in SAMPLES] for name in models])
    rows = [[name, *(" / ".join(column[i]) for column in columns)] for i, name in enumerate(models)]
    print_table(
        f"Accuracy (%) at {' / '.join(map(str, SAMPLES))} samples", ["", *(stream.name for stream in streams)], rows
    )
    print(f"- seed 0; {machine()}")


if __name__ == "__main__":
    main()
