"""What a learner says while it runs, written down beside the truth."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anystream.drift.detector import DriftDetector
from anystream.evaluate.learner import Learner
from anystream.evaluate.run import Run

Batch = tuple[NDArray[np.float64], NDArray[Any]]


class Stream(Protocol):
    """Records in their order: the generators and data sets of `anystream.streams`, or anything alike."""

    def batches(self, size: int) -> Iterator[Batch]:
        """Batches ``(X, y)`` of `size` records; the last may be smaller."""
        ...


StreamLike = Stream | tuple[ArrayLike, ArrayLike]


class ArrayStream:
    """Plain arrays ``(X, y)`` as a stream."""

    def __init__(self, X: Any, y: Any) -> None:
        self.X, self.y = np.asarray(X, dtype=np.float64), np.asarray(y)
        if self.X.ndim != 2 or self.y.shape != (len(self.X),):
            raise ValueError(f"X has the shape {self.X.shape} and y {self.y.shape}; give one label to each row")
        self.classes = np.unique(self.y)

    def batches(self, size: int) -> Iterator[Batch]:
        """Batches ``(X, y)`` of `size` records; the last may be smaller."""
        return ((self.X[at : at + size], self.y[at : at + size]) for at in range(0, len(self.y), size))


def as_stream(stream: StreamLike) -> Stream:
    """A stream as it is, or from a pair of arrays."""
    if isinstance(stream, tuple) and len(stream) == 2:
        return ArrayStream(*stream)
    if not hasattr(stream, "batches"):
        raise TypeError(f"the stream is a {type(stream).__name__}; give one of anystream.streams, or a pair (X, y)")
    return stream


def stream_name(stream: Stream) -> str:
    """What a stream is called in tables."""
    return str(getattr(stream, "name", type(stream).__name__))


class Recorder:
    """Asks a learner, teaches it, and keeps answers, truth and times.

    Parameters
    ----------
    learner : Learner
        Who is judged.
    detector : DriftDetector, optional
        Told of every answer whether it was wrong.
    """

    def __init__(self, learner: Learner, detector: DriftDetector | None = None) -> None:
        self._learner = learner
        self._detector = detector
        self._numbers: dict[Any, int] = {}
        self._truth: list[int] = []
        self._predicted: list[int] = []
        self._detections: list[int] = []
        self._seconds_answering = 0.0
        self._seconds_learning = 0.0

    def test(self, rows: NDArray[np.float64], labels: NDArray[Any]) -> None:
        """Ask for the labels of rows and compare with the true ones."""
        started = time.perf_counter()
        answers = self._learner.answer(rows)
        self._seconds_answering += time.perf_counter() - started
        for answer, label in zip(answers, labels.tolist(), strict=True):
            self._truth.append(self._numbers.setdefault(label, len(self._numbers)))
            said = -1 if answer is None else self._numbers.setdefault(answer, len(self._numbers))
            self._predicted.append(said)
            if self._detector is not None:
                self._detector.update(int(said != self._truth[-1]))
                if self._detector.drift_detected:
                    self._detections.append(len(self._truth) - 1)

    def learn(self, rows: NDArray[np.float64], labels: NDArray[Any]) -> None:
        """Teach rows in their order."""
        started = time.perf_counter()
        self._learner.learn(rows, labels)
        self._seconds_learning += time.perf_counter() - started

    @property
    def n_answers(self) -> int:
        """Answers so far."""
        return len(self._truth)

    def run(self, *, method: str, stream: str, seed: int | None, window: int, drifts: tuple[int, ...]) -> Run:
        """All of it."""
        if not self._truth:
            raise ValueError("the stream ended before anything was tested; give a longer one or smaller batches")
        return Run(
            method=method,
            stream=stream,
            seed=seed,
            truth=np.array(self._truth, dtype=np.int64),
            predicted=np.array(self._predicted, dtype=np.int64),
            classes=tuple(self._numbers),
            window=window,
            drifts=drifts,
            detections=tuple(self._detections),
            seconds_answering=self._seconds_answering,
            seconds_learning=self._seconds_learning,
        )
