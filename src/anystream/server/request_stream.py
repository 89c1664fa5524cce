"""Requests as a stream of records: the source, sink and dead letters of a model's engine.

The offset and key of a record are the number of its request and its row in it, packed into one integer.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.contracts import AnsweredRecords, PollResult
from anystream.runtime.records import Records, RejectedRecord

ROW_BITS = 20
MAX_ROWS = 2**ROW_BITS
"""Maximum number of records in a request."""


class Answers(NamedTuple):
    """Answers to the records of one request, in their order.

    Parameters
    ----------
    label, proba, steps, certified, waited_s, late, reached, confident : arrays
        See `anystream.runtime.contracts.AnsweredRecords`.
    classes : array of shape (n_classes,)
        The class of each column of `proba`.
    """

    label: NDArray[Any]
    proba: NDArray[np.float64]
    classes: NDArray[Any]
    steps: NDArray[np.int64]
    certified: NDArray[np.bool_]
    waited_s: NDArray[np.float64]
    late: NDArray[np.bool_]
    reached: NDArray[np.bool_]
    confident: NDArray[np.bool_]


class _Part(NamedTuple):
    """Rows of a request in a batch of answers."""

    batch: AnsweredRecords
    at: slice


class PendingRequest:
    """A request whose records wait or are being classified.

    Parameters
    ----------
    number : int
        Number of the request; later requests have higher ones.
    features : array of shape (n_records, n_features)
        Its records.
    arrival, deadline : float
        Instants on the clock of `time.monotonic`.
    label : list, optional
        Known labels of the records, to judge the answers; None where unknown.
    done : Future
        Set by the event loop when every record is answered or rejected.
    """

    __slots__ = ("arrival", "deadline", "done", "error", "features", "label", "left", "number", "parts", "withdrawn")

    def __init__(
        self,
        number: int,
        features: NDArray[np.float64],
        arrival: float,
        deadline: float,
        label: list[Any] | None,
        done: asyncio.Future[None],
    ) -> None:
        self.number = number
        self.features = features
        self.arrival = arrival
        self.deadline = deadline
        self.label = label
        self.done = done
        self.left = len(features)  # records without an answer
        self.parts: list[_Part] = []
        self.error: tuple[int, str] | None = None  # row of the first rejected record, and the reason
        self.withdrawn = False

    @property
    def first_offset(self) -> int:
        """Offset of the first record."""
        return self.number << ROW_BITS

    def answers(self) -> Answers:
        """Return the answers; all records must have one."""
        if len(self.parts) == 1:
            batch, at = self.parts[0]
            if at.stop - at.start == 1 or bool(np.all(np.diff(batch.key[at]) == 1)):  # in the order of the request
                return _take(batch, at)
        found = [_take(batch, at) for batch, at in self.parts]
        rows = np.concatenate([batch.key[at] for batch, at in self.parts]) & (MAX_ROWS - 1)
        order = np.argsort(rows)
        classes = max((part.classes for part in found), key=len)
        label = np.concatenate([part.label.astype(object) for part in found])
        columns = {
            "label": label.astype(classes.dtype) if classes.dtype.kind in "biuf" else label,  # no wide arrays of texts
            "proba": np.concatenate([_widen(part, classes) for part in found]),
        } | {
            name: np.concatenate([getattr(part, name) for part in found])
            for name in ("steps", "certified", "waited_s", "late", "reached", "confident")
        }
        return Answers(classes=classes, **{name: column[order] for name, column in columns.items()})


def _take(batch: AnsweredRecords, at: slice) -> Answers:
    return Answers(
        batch.label[at],
        batch.proba[at],
        batch.classes,
        batch.steps[at],
        batch.certified[at],
        batch.waited_s[at],
        batch.late[at],
        np.ones(at.stop - at.start, dtype=np.bool_) if batch.reached is None else batch.reached[at],
        np.zeros(at.stop - at.start, dtype=np.bool_) if batch.confident is None else batch.confident[at],
    )


def _widen(part: Answers, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return probabilities of all classes: a model that learns may have got new ones between two batches."""
    if len(part.classes) == len(classes):
        return part.proba
    places = {label: place for place, label in enumerate(classes.tolist())}
    proba = np.zeros((len(part.proba), len(classes)))
    proba[:, [places[label] for label in part.classes.tolist()]] = part.proba
    return proba


class RequestSource:
    """Source of the records of requests, in the order in which they were submitted.

    The event loop submits, the engine's thread polls.
    """

    def __init__(self) -> None:
        self._requests: deque[PendingRequest] = deque()
        self._row = 0  # first row of the first request that was not polled
        self._ready = threading.Lock()  # free when there may be requests; quicker than an Event
        self._ready.acquire()
        self._closed = False
        self.offset = 0

    @property
    def done(self) -> bool:
        """Whether the source is closed and everything polled."""
        return self._closed and not self._requests

    def submit(self, request: PendingRequest) -> None:
        """Append a request."""
        self._requests.append(request)
        self._wake()

    def poll(self, max_records: int) -> PollResult:
        """Return the records of the next requests."""
        self._ready.acquire(blocking=False)
        taken: list[tuple[PendingRequest, int, int]] = []
        n_free = max_records
        while n_free > 0 and self._requests:
            request = self._requests[0]
            first, n = self._row, len(request.features)
            last = first if request.withdrawn else min(first + n_free, n)
            if request.withdrawn or last == n:
                self._requests.popleft()
                self._row = 0
            else:
                self._row = last
            if last > first:
                taken.append((request, first, last))
                n_free -= last - first
        if not taken:
            return _NOTHING
        records = _to_records(taken)
        self.offset = int(records.offset[-1]) + 1
        return PollResult(records)

    def wait(self, seconds: float) -> None:
        """Return when requests are there, or after `seconds`."""
        self._ready.acquire(timeout=seconds)

    def fingerprint(self) -> dict[str, Any]:
        """Return nothing: requests cannot be read again."""
        return {}

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Raise: requests cannot be read again."""
        raise ValueError("requests cannot be read again from an earlier offset")

    def acknowledge(self, offset: int) -> None:
        """Do nothing: a request is finished by its response."""

    def close(self) -> None:
        """End the stream after the requests that were submitted."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        if self._ready.locked():  # only the thread of the event loop releases it
            self._ready.release()


_NOTHING = PollResult(Records.empty())


def _to_records(taken: Sequence[tuple[PendingRequest, int, int]]) -> Records:
    """Return rows of requests as records; most often there are few, so that every call of NumPy counts."""
    sizes = [last - first for _, first, last in taken]
    n = sum(sizes)
    times = np.array([[request.arrival for request, _, _ in taken], [request.deadline for request, _, _ in taken]])
    if n == len(taken):
        offset = np.array([request.first_offset + first for request, first, _ in taken], dtype=np.int64)
    else:
        times = np.repeat(times, sizes, axis=1)
        offset = np.concatenate(
            [np.arange(request.first_offset + first, request.first_offset + last) for request, first, last in taken]
        )
    features = [request.features[first:last] for request, first, last in taken]
    nothing = np.empty(n, dtype=object)  # None in every place
    label = nothing
    if any(request.label is not None for request, _, _ in taken):
        label = nothing.copy()
        at = 0
        for request, first, last in taken:
            if request.label is not None:
                for row, known in enumerate(request.label[first:last], at):
                    label[row] = known
            at += last - first
    return Records(
        key=offset,
        features=np.ascontiguousarray(features[0]) if len(features) == 1 else np.concatenate(features),
        offset=offset,
        line=np.zeros(n, dtype=np.int64),
        arrival=times[0],
        deadline=times[1],
        label=label,
        sequence=np.full(n, -1, dtype=np.int64),
        unknown=nothing,
        kept=nothing,
    )


class _ResponseStream:
    """What responses have in common: they are written at once, and cannot be taken back."""

    def flush(self) -> None:
        """Do nothing: `write` has passed everything on."""

    def mark(self, *, complete: bool) -> dict[str, Any]:
        """Raise: responses cannot be taken back."""
        raise ValueError("responses cannot be part of a checkpoint")

    def sync(self) -> None:
        """Do nothing: there is no file."""

    def rewind(self, mark: dict[str, Any] | None) -> None:
        """Raise: responses cannot be taken back."""
        raise ValueError("responses cannot be rewound to a checkpoint")

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class RequestSink(_ResponseStream):
    """Sink that passes answers to their requests.

    Parameters
    ----------
    pending : dict
        Requests by their number; the sink removes those that it finishes.
    finish : callable
        Called once per batch, in the engine's thread, with the requests that are finished.
    """

    def __init__(
        self, pending: dict[int, PendingRequest], finish: Callable[[AnsweredRecords, list[PendingRequest]], None]
    ) -> None:
        self._pending = pending
        self._finish = finish

    def write(self, answers: AnsweredRecords) -> None:
        """Pass each run of rows of one request to it."""
        numbers = answers.key >> ROW_BITS
        starts = [0, *(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist()] if len(numbers) > 1 else [0]
        finished = []
        for number, start, stop in zip(numbers[starts].tolist(), starts, [*starts[1:], len(numbers)], strict=True):
            request = self._pending.get(number)
            if request is None:  # withdrawn while it was being classified
                continue
            request.parts.append(_Part(answers, slice(start, stop)))
            request.left -= stop - start
            if request.left == 0:
                self._pending.pop(number, None)
                finished.append(request)
        self._finish(answers, finished)


class RequestDeadLetters(_ResponseStream):
    """Dead letters that pass the reason to the request of each rejected record.

    Parameters
    ----------
    pending : dict
        Requests by their number.
    finish : callable
        Called in the engine's thread with the requests that are finished.
    """

    def __init__(self, pending: dict[int, PendingRequest], finish: Callable[[list[PendingRequest]], None]) -> None:
        self._pending = pending
        self._finish = finish

    def write(self, rejected: Sequence[RejectedRecord]) -> None:
        """Note the first rejected record of each request; the request fails as a whole."""
        finished = []
        for found in rejected:
            request = self._pending.get(found.offset >> ROW_BITS)
            if request is None:
                continue
            row = found.offset & (MAX_ROWS - 1)
            if request.error is None or row < request.error[0]:
                request.error = row, found.reason
            request.left -= 1
            if request.left == 0:
                self._pending.pop(request.number, None)
                finished.append(request)
        self._finish(finished)
