"""The protocol of KAOGINC's paper: labelled batches of 80 to learn, each followed by 60 records to classify.

Four concepts of 20 such pairs. A change falls between the two parts of a pair, so that no learner can avoid the first
bad test after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.evaluate import interleaved_drifts
from anystream.streams import SEA, GeneratedStream, MovingGaussians, Sine

LEARNED, TESTED, PAIRS = 80, 60, 20
DRIFTS, LENGTH = interleaved_drifts(4, batches=PAIRS, train=LEARNED, test=TESTED)
THETAS = {"a": (7, 9, 6, 9.5), "b": (8, 6, 8, 7.5), "c": (3, 5, 7, 9), "d": (9.5, 8, 6, 4)}
"""The thresholds of Figure 3, as its caption has them."""

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


def pairs(stream: GeneratedStream[Any]) -> Iterator[Pair]:
    for X, y in stream.batches(LEARNED + TESTED):
        yield X[:LEARNED], y[:LEARNED], X[LEARNED:], y[LEARNED:]


def errors(model: Any, stream: GeneratedStream[Any]) -> NDArray[np.float64]:
    """The error in percent on each of the 80 tests, each after the batch before it was learned."""
    found = []
    for X, y, queries, labels in pairs(stream):
        model.partial_fit(X, y)
        found.append(100.0 * float((model.predict(queries) != labels).mean()))
    return np.array(found)


def in_parallel(work: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], workers: int) -> list[Any]:
    """The results of all jobs, in their order."""
    if workers == 1:
        return [work(*job) for job in jobs]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(work, *zip(*jobs, strict=True)))


def mean_and_error(values: Sequence[float]) -> str:
    runs = np.asarray(values)
    spread = runs.std(ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else float("nan")
    return f"{runs.mean():6.2f} ± {spread:.2f}"
