"""Test, then train: every record is answered before its label is learned."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from anystream.anytime.budget import BudgetLike
from anystream.drift.detector import DriftDetector
from anystream.evaluate.learner import as_learner
from anystream.evaluate.recorder import Batch, Recorder, Stream, StreamLike, as_stream, stream_name
from anystream.evaluate.run import Run
from anystream.streams.parameters import whole_number

BLOCK = 4096  # records read from a stream at a time


def prequential(
    model: Any,
    stream: StreamLike,
    *,
    batch_size: int = 1,
    delay: int = 0,
    warm_up: int = 0,
    n_records: int | None = None,
    window: int = 500,
    budget: BudgetLike = None,
    detector: DriftDetector | None = None,
    method: str | None = None,
) -> Run:
    """Run a classifier through a stream, testing each record or batch before it is learned.

    Parameters
    ----------
    model : classifier
        Of scikit-learn's surface (`partial_fit`, `predict`) or river's (`learn_one`, `predict_one`). It learns.
    stream : stream or pair (X, y)
        A generator or data set of `anystream.streams`, or arrays.
    batch_size : int, default=1
        Records that are tested together and then learned together.
    delay : int, default=0
        Labels come late: a batch is learned only after `delay` further records were tested. Labels that would come
        after the end are never learned.
    warm_up : int, default=0
        Records at the beginning that are learned without being tested.
    n_records : int, optional
        How many records to read, the warm-up included. Default: all; a stream without end needs it.
    window : int, default=500
        Answers that make one point of the error curve.
    budget : int, timedelta or Budget, optional
        Passed on to an anytime classifier with each question: steps per record, or time per batch.
    detector : DriftDetector, optional
        Told of each answer whether it was wrong; what it reports is in the run's `detections`.
    method : str, optional
        The name in tables. Default: the class of the model.

    Examples
    --------
    >>> from anystream.drift import DynamicWeightedMajority
    >>> from anystream.streams import SEA
    >>> stream = SEA(concepts=(7, 9), drifts=(2000,), seed=1, n_records=4000)
    >>> run = prequential(DynamicWeightedMajority(), stream, window=100)
    >>> run.accuracy > 0.85, run.drifts, len(run.errors())
    (True, (2000,), 40)
    """
    size = whole_number("batch_size", batch_size, least=1)
    late = whole_number("delay", delay, least=0)
    ahead = whole_number("warm_up", warm_up, least=0)
    point = whole_number("window", window, least=1)
    source = as_stream(stream)
    length = _length(source, n_records)
    learner = as_learner(model, budget=budget, classes=getattr(source, "classes", None), singly=size == 1)
    recorder = Recorder(learner, detector)
    waiting: deque[tuple[int, Batch]] = deque()  # batches whose labels are on their way, with the answer they wait for
    for X, y in _cut(source, ahead, size, length):
        if ahead:
            recorder.learn(X, y)
            ahead = 0
            continue
        recorder.test(X, y)
        waiting.append((recorder.n_answers + late, (X, y)))
        while waiting and waiting[0][0] <= recorder.n_answers:
            recorder.learn(*waiting.popleft()[1])
    skipped = whole_number("warm_up", warm_up, least=0)
    drifts = tuple(at - skipped for at in getattr(source, "drifts", ()) if skipped < at < skipped + recorder.n_answers)
    return recorder.run(
        method=method or type(model).__name__,
        stream=stream_name(source),
        seed=getattr(source, "seed", None),
        window=point,
        drifts=drifts,
    )


def _length(source: Stream, n_records: int | None) -> int | None:
    if n_records is not None:
        return whole_number("n_records", n_records, least=1)
    if hasattr(source, "n_records") and source.n_records is None:
        raise ValueError(f"{stream_name(source)} has no end; say with n_records how many records to read")
    return None


def _cut(source: Stream, warm_up: int, size: int, length: int | None) -> Iterator[Batch]:
    """The warm-up as one batch, then batches of `size`, up to `length` records in all.

    Streams are read in blocks, since small batches cost more to make than to learn.
    """
    left = math.inf if length is None else length
    wanted = warm_up or size
    kept: Batch | None = None
    for X, y in source.batches(BLOCK):
        if not isinstance(X, np.ndarray) or X.ndim != 2:
            raise TypeError(f"the records of {stream_name(source)} are no rows of numbers; a run needs such")
        if len(y) > left:
            X, y = X[: int(left)], y[: int(left)]
        left -= len(y)
        if kept is not None:
            X, y = np.concatenate([kept[0], X]), np.concatenate([kept[1], y])
        at = 0
        while len(y) - at >= wanted:
            yield X[at : at + wanted], y[at : at + wanted]
            at, wanted = at + wanted, size
        kept = X[at:], y[at:]
        if left == 0:
            break
    if kept is not None and len(kept[1]):
        yield kept
