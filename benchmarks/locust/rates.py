"""Table I of the LOCUST paper: points learned per second, and points classified per second."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from anystream.microclusters import MicroClusterClassifier
from anystream.subspace import LocustClassifier
from benchmarks.locust.protocol import time_per_record
from benchmarks.locust.streams import generated_stream, load_stream
from benchmarks.table import machine, print_table

PUBLISHED = {"covtype": ("7.4", "2.1"), "kdd": ("4.4", "1.1")}  # thousand points per second: LOCUST, micro-clusters


def learn_rate(
    model: Any,
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    repeats: int,
    clock: Callable[[], float] = time.process_time,
    **options: Any,
) -> float:
    """Return thousand points per second of the native call, validation left out; the best of several runs."""
    classes, numbers = np.unique(y, return_inverse=True)
    warm, rest = 20_000, len(y) - 20_000
    model.partial_fit(X[:warm], y[:warm], classes=classes)
    part = rest // repeats
    best = np.inf
    for r in range(repeats):
        where = slice(warm + r * part, warm + (r + 1) * part)
        of_part = numbers[where].astype(np.int32)
        started = clock()
        model.model_.learn(X[where], of_part, len(classes), **options)
        best = min(best, clock() - started)
    return part / best / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="learn the whole streams")
    max_records = None if parser.parse_args().full else 220_000
    learning, classifying = [], []
    loaded = [stream for name in ("covtype", "kdd") if (stream := load_stream(name)) is not None]
    for stream in loaded or [generated_stream()]:
        name = stream.name
        X, y, queries = stream.X[:max_records], stream.y[:max_records], stream.X[-5000:]
        models = {
            "LocustClassifier()": LocustClassifier(n_jobs=1, max_samples=10**6),
            "LocustClassifier.paper()": LocustClassifier.paper(n_jobs=1, max_samples=10**6, bias="proportional"),
            "MicroClusterClassifier(), 200": MicroClusterClassifier(n_clusters=200, n_jobs=1),
            "MicroClusterClassifier(), 1000": MicroClusterClassifier(n_clusters=1000, n_jobs=1),
        }
        for label, model in models.items():
            all_cores = "-"
            if label == "LocustClassifier()":
                all_cores = f"{learn_rate(clone(model), X, y, 4, time.perf_counter, threads=0):.0f}"
            rate = learn_rate(model, X, y, 4)
            published = PUBLISHED.get(name, ("-", "-"))[label.startswith("Micro")]
            learning.append([name, label, f"{rate:.0f}", all_cores, published, f"{model.memory_bytes_ / 1e6:.1f}"])
            if label.startswith("Locust"):
                once, thirty = (time_per_record(model, queries, samples) for samples in (1, 30))
                cells = [f"{1e3 / once:.0f}", "4", f"{1e3 * once:.0f}", f"{1e3 * thirty / 30:.0f}"]
            else:
                cells = [f"{1e3 / time_per_record(model, queries, 10**6):.0f}", "-", "-", "-"]
            classifying.append([name, label, *cells])
    print_table(
        "Learning, thousand points per second of processor time on one thread, and of real time on all cores",
        ["stream", "", "one thread", "all cores", "published", "MB"],
        learning,
    )
    print_table(
        "Classifying, thousand records per second at one sample (micro-clusters: all compared); ns per sample",
        ["stream", "", "here", "published", "ns at 1 sample", "ns per sample at 30"],
        classifying,
        [f"seed 0; {machine()}"],
    )


if __name__ == "__main__":
    main()
