"""Prequential evaluation, test-then-train: every record is classified before its label is learned."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from anystream.anytime.budget import BudgetLike
from anystream.drift.detector import DriftDetector
from anystream.evaluate.recorder import Recorder
from anystream.evaluate.run import Run
from anystream.evaluate.stream import Batch, Stream, StreamLike, as_stream, check_limit, stream_name
from anystream.streams.parameters import check_int

READ_SIZE = 4096  # records that are read from a stream at a time


def run_prequential(
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
    note_classified: bool = False,
    method: str | None = None,
) -> Run:
    """Run a classifier on a stream and test each record or batch before it is learned.

    Parameters
    ----------
    model : classifier
        With the scikit-learn API (`partial_fit`, `predict`) or the river API (`learn_one`, `predict_one`). It is
        trained in place.
    stream : stream or pair (X, y)
        A generator or data set of `anystream.streams`, or arrays.
    batch_size : int, default=1
        Number of records that are tested together and then learned together.
    delay : int, default=0
        Delay of the labels: a batch is learned after `delay` further records were tested. Labels that would arrive
        after the end are never learned.
    warm_up : int, default=0
        Number of records at the beginning that are learned without being tested.
    n_records : int, optional
        Number of records to read, including the warm-up. Default: all; required for an endless stream.
    window : int, default=500
        Number of tested records per point of the error curve.
    budget : int, timedelta or Budget, optional
        Passed to an anytime classifier with each prediction: steps per record, or time per batch.
    detector : DriftDetector, optional
        Updated after each prediction with 1 if it was wrong, else 0; the run's `detections` lists what it reports.
    note_classified : bool, default=False
        Whether to tell the model by its `note_classified` which records were tested, as the published KAOGINC needs.
    method : str, optional
        The name in tables. Default: the class of the model.

    Examples
    --------
    >>> from anystream.drift import DynamicWeightedMajority
    >>> from anystream.streams import SEA
    >>> stream = SEA(concepts=(7, 9), drifts=(2000,), seed=1, n_records=4000)
    >>> run = run_prequential(DynamicWeightedMajority(), stream, window=100)
    >>> run.accuracy > 0.85, run.drifts, len(run.error_curve())
    (True, (2000,), 40)
    """
    size = check_int("batch_size", batch_size, min_value=1)
    n_delay = check_int("delay", delay, min_value=0)
    n_warm_up = check_int("warm_up", warm_up, min_value=0)
    n_window = check_int("window", window, min_value=1)
    source = as_stream(stream)
    batches = _read_batches(source, n_warm_up, size, check_limit(source, "n_records", n_records))
    recorder = Recorder(
        model, source, budget=budget, detector=detector, one_by_one=size == 1, note_classified=note_classified
    )
    for X, y in islice(batches, 1 if n_warm_up else 0):
        recorder.learn(X, y)
    pending: deque[tuple[int, Batch]] = deque()  # tested batches, with the number of tests after which they are learned
    for X, y in batches:
        recorder.test(X, y)
        pending.append((recorder.n_tested + n_delay, (X, y)))
        while pending and pending[0][0] <= recorder.n_tested:
            recorder.learn(*pending.popleft()[1])
    drifts = (at - n_warm_up for at in getattr(source, "drifts", ()))
    return recorder.finish(method=method, window=n_window, drifts=drifts)


def _read_batches(source: Stream, warm_up: int, size: int, max_records: int | None) -> Iterator[Batch]:
    """Yield the warm-up as one batch if there is one, then batches of `size`, up to `max_records` records in total.

    Streams are read in blocks, because small batches take longer to generate than to learn.
    """
    remaining = math.inf if max_records is None else max_records
    next_size = warm_up or size
    rest: Batch | None = None
    for X, y in source.batches(READ_SIZE):
        if not isinstance(X, np.ndarray) or X.ndim != 2:
            raise TypeError(
                f"the records of {stream_name(source)} are not rows of numbers; give a stream with a dense numeric X"
            )
        if len(y) > remaining:
            X, y = X[: int(remaining)], y[: int(remaining)]
        remaining -= len(y)
        if rest is not None:
            X, y = np.concatenate([rest[0], X]), np.concatenate([rest[1], y])
        start = 0
        while len(y) - start >= next_size:
            yield X[start : start + next_size], y[start : start + next_size]
            start, next_size = start + next_size, size
        rest = X[start:], y[start:]
        if remaining == 0:
            break
    if rest is not None and len(rest[1]):
        yield rest
