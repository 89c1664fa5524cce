"""Test-then-train runs by block or in chunks of 200 records; every classifier gets the same records."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.locust.streams import Stream
from benchmarks.timing import min_seconds

CHUNK = 200


class Contestant(Protocol):
    """Classifier that learns in order and predicts in one or several ways."""

    def learn(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Learn records in order."""

    def predict(self, X: NDArray[np.float64]) -> Mapping[str, NDArray[Any]]:
        """Return labels by the name of the way of predicting."""


class Classifier:
    """Classifier of the library, with predictions after each of several numbers of steps."""

    def __init__(self, model: Any, steps: Sequence[int], classes: NDArray[Any]) -> None:
        self.model, self.steps, self.classes = model, steps, classes

    def learn(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Learn records in order."""
        self.model.partial_fit(X, y, classes=self.classes)

    def predict(self, X: NDArray[np.float64]) -> Mapping[str, NDArray[Any]]:
        """Return the labels after each number of steps."""
        return dict(zip(map(str, self.steps), self.model.staged_predict(X, stages=self.steps), strict=True))


class ScaledBeforehand:
    """Contestant on records scaled by the standard deviations of the whole stream, which are unknown in practice."""

    def __init__(self, contestant: Contestant, X: NDArray[np.float64]) -> None:
        self.contestant = contestant
        deviation = X.std(axis=0)
        self.scale = np.where(deviation > 0, 1 / np.maximum(deviation, 1e-300), 0.0)

    def learn(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Learn scaled records in order."""
        self.contestant.learn(X * self.scale, y)

    def predict(self, X: NDArray[np.float64]) -> Mapping[str, NDArray[Any]]:
        """Predict scaled records."""
        return self.contestant.predict(X * self.scale)


class LastLabel:
    """No-change classifier: the label that was learned last. Anything below it is useless."""

    def learn(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Remember the last label."""
        self.label = y[-1]

    def predict(self, X: NDArray[np.float64]) -> Mapping[str, NDArray[Any]]:
        """Return the last label for all records."""
        return {"": np.full(len(X), self.label)}


class NearestOfWindow:
    """1-NN among the last records, standardised by the stream so far. Slow and accurate."""

    def __init__(self, window: int = 5000) -> None:
        self.window = window
        self.n = 0

    def learn(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Slide the window."""
        if self.n == 0:
            self.X, self.y, self.sum, self.squares = X[:0], y[:0], np.zeros(X.shape[1]), np.zeros(X.shape[1])
        self.n += len(X)
        self.sum += X.sum(axis=0)
        self.squares += (X**2).sum(axis=0)
        self.X = np.concatenate([self.X, X])[-self.window :]
        self.y = np.concatenate([self.y, y])[-self.window :]

    def predict(self, X: NDArray[np.float64]) -> Mapping[str, NDArray[Any]]:
        """Return the label of the nearest record of the window."""
        mean = self.sum / self.n
        variance = np.maximum(self.squares / self.n - mean**2, 0.0)
        scale = np.where(variance > 0, 1 / np.sqrt(np.maximum(variance, 1e-300)), 0.0)
        window, queries = (self.X - mean) * scale, (X - mean) * scale
        lengths = (window**2).sum(axis=1)
        return {"": self.y[np.argmin(lengths - 2 * queries @ window.T, axis=1)]}


def time_per_record(model: Any, queries: NDArray[np.float64], budget: int) -> float:
    """Return microseconds of processor time per record, the minimum of several runs over all queries."""
    return min_seconds(lambda: model.classify(queries, budget=budget)) / len(queries) * 1e6


@dataclass
class Result:
    """Hits per way of predicting, and the time spent."""

    hits: dict[str, list[NDArray[np.bool_]]] = field(default_factory=dict)
    learn_s: float = 0.0
    predict_s: float = 0.0

    def accuracy(self, way: str, part: slice | None = None) -> float:
        """Return the percentage of correct labels, of all or of a part of the tested records."""
        hits = np.concatenate(self.hits[way])
        return float(100 * hits[part or slice(None)].mean())


def run(
    stream: Stream, contestants: Mapping[str, Contestant], *, by_block: bool, thin: int = 1
) -> tuple[dict[str, Result], int]:
    """Run all contestants through a stream. The first block is only learned.

    Returns
    -------
    results : dict of str to Result
        By contestant.
    half : int
        Number of tested records in the first half of the stream.
    """
    step, test_every = stream.block if by_block else CHUNK, stream.test_every * thin
    results = {name: Result() for name in contestants}
    tested_before_half = 0
    for start in range(0, len(stream.y), step):
        stop = min(start + step, len(stream.y))
        first = -(-start // test_every) * test_every
        tested = np.arange(first, stop, test_every) if start >= stream.block else np.arange(0)
        tested_before_half += int((tested < len(stream.y) // 2).sum())
        for name, contestant in contestants.items():
            result = results[name]
            if len(tested):
                started = time.process_time()
                for way, labels in contestant.predict(stream.X[tested]).items():
                    result.hits.setdefault(way, []).append(labels == stream.y[tested])
                result.predict_s += time.process_time() - started
            started = time.process_time()
            contestant.learn(stream.X[start:stop], stream.y[start:stop])
            result.learn_s += time.process_time() - started
    return results, tested_before_half
