"""Evaluation protocol of KAOGINC's paper: labelled batches of 80 records, each followed by 60 records to classify.

Four concepts of 20 such pairs. Each drift is between the two parts of a pair, so that every classifier is tested on the
new concept before it has learned any record of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.evaluate import mean_and_standard_error, place_interleaved_drifts
from anystream.streams import SEA, GeneratedStream, MovingGaussians, Sine

LEARNED, TESTED, PAIRS = 80, 60, 20
DRIFTS, LENGTH = place_interleaved_drifts(4, pairs_per_concept=PAIRS, train_size=LEARNED, test_size=TESTED)
THETAS = {
    "a": (7, 9, 6, 9.5),
    "b": (8, 6, 8, 7.5),
    "b, text": (8, 9, 7, 9.5),
    "c": (3, 5, 7, 9),
    "d": (9.5, 8, 6, 4),
}
"""Thresholds of Figure 3, as stated in its caption; for panel b also those of the text, which differ."""

Pair = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]


def sea(seed: int, thetas: Sequence[float] = THETAS["a"], noise: float = 0.1) -> SEA:
    return SEA(concepts=thetas, drifts=DRIFTS, noise=noise, seed=seed, n_records=LENGTH)


def sine(seed: int) -> Sine:
    concepts = ("sine1", "sine1_reversed", "sine2", "sine2_reversed")
    return Sine(concepts=concepts, drifts=DRIFTS, seed=seed, n_records=LENGTH)


def gauss(seed: int) -> MovingGaussians:
    concepts = ("plain", "swapped", "plain", "swapped")
    return MovingGaussians(concepts=concepts, drifts=DRIFTS, seed=seed, n_records=LENGTH)


STREAMS: dict[str, Callable[[int], GeneratedStream[Any]]] = {"Sine": sine, "SEA 10 %": sea, "Gauss": gauss}


def read_pairs(stream: GeneratedStream[Any]) -> Iterator[Pair]:
    """Yield a labelled batch and its test batch as (X, y, queries, labels)."""
    for X, y in stream.batches(LEARNED + TESTED):
        yield X[:LEARNED], y[:LEARNED], X[LEARNED:], y[LEARNED:]


def run_errors(model: Any, stream: GeneratedStream[Any]) -> NDArray[np.float64]:
    """Return the error in percent on each of the 80 test batches; the labelled batch before it is learned first."""
    errors = []
    for X, y, queries, labels in read_pairs(stream):
        model.partial_fit(X, y)
        errors.append(100.0 * float((model.predict(queries) != labels).mean()))
        if hasattr(model, "note_classified"):
            model.note_classified(queries)
    return np.array(errors)


def run_in_parallel(work: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], workers: int) -> list[Any]:
    """Return the results of all jobs, in the order of the jobs."""
    if workers == 1:
        return [work(*job) for job in jobs]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(work, *zip(*jobs, strict=True)))


def format_mean_error(values: Sequence[float]) -> str:
    mean, spread = mean_and_standard_error(values)
    return f"{mean:6.2f} ± {spread:.2f}"
