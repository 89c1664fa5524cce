"""Bounded queue of records: earliest deadline first, with a named policy for overflow."""

from __future__ import annotations

import itertools
import math
from collections import deque
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.records import Records

OverflowPolicy = Literal["block", "answer_now", "shed_oldest", "shed_newest"]
OVERFLOW_POLICIES: tuple[str, ...] = get_args(OverflowPolicy)
_SMALL_PART = 4096  # neighbours with so many records in all are joined where there are many parts, a few at a time
_MAX_PARTS = 64  # many: more than these, and those that could not be joined
_NO_TIMES = np.empty(0, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class QueueSample:
    """Every k-th record of a queue.

    Parameters
    ----------
    positions, deadlines, arrivals : array
        Of these records. Those up to the next one of the sample are not due before it.
    """

    positions: NDArray[np.float64]
    deadlines: NDArray[np.float64]
    arrivals: NDArray[np.float64]


class RecordQueue:
    """Records that wait to be classified, in the order of their deadlines; equal ones in the order of arrival.

    Parameters
    ----------
    capacity : int, default=10_000
        Maximum number of records in the queue.
    overflow : {"block", "answer_now", "shed_oldest", "shed_newest"}, default="block"
        The policy for more records than that. ``"block"``: they stay in the source until there are free slots
        (back-pressure; nothing is lost). ``"answer_now"``: those that are late already, then the newest, are evicted
        and answered at once: the newest at budget 0, late ones with the prior probabilities. Late ones never fill more
        than half of the queue.
        ``"shed_oldest"`` and ``"shed_newest"``: the oldest, or the newest, are evicted unanswered; the engine counts
        them and sends them to the dead letters.
    """

    def __init__(self, capacity: int = 10_000, overflow: OverflowPolicy = "block") -> None:
        if capacity < 1:
            raise ValueError(f"capacity is {capacity}; use 1 or more records")
        if overflow not in OVERFLOW_POLICIES:
            raise ValueError(f"overflow is {overflow!r}; use one of {', '.join(OVERFLOW_POLICIES)}")
        self.capacity = capacity
        self.overflow: OverflowPolicy = overflow
        self._parts: deque[Records] = deque()  # each sorted, and no deadline before those of the part in front of it
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def free_slots(self) -> int:
        """How many more records fit."""
        return self.capacity - self._length

    def enqueue(self, records: Records, now: float = -math.inf) -> list[Records]:
        """Enqueue records at the instant `now`; return those that the overflow policy evicted, in parts."""
        self._insert(records)
        surplus = max(self._length - self.capacity, 0)
        evicted: list[Records] = []
        if self.overflow == "answer_now":
            n_late = self.count_due_before(now)
            wanted = max(min(n_late, surplus), n_late - self.capacity // 2)
            evicted = self._pop(min(self._end_of_part(wanted), n_late))
            surplus -= sum(map(len, evicted))
        if surplus > 0:
            by_age = np.argsort(self._column("sequence"), kind="stable")
            evicted.append(self.dequeue(by_age[:surplus] if self.overflow == "shed_oldest" else by_age[-surplus:]))
        return evicted

    def arrivals(self) -> NDArray[np.float64]:
        """Return the arrivals of all records, in the order of the queue."""
        return self._column("arrival")

    def count_due_before(self, instant: float) -> int:
        """Return how many records have a deadline before an instant."""
        count = 0
        for part in self._parts:
            found = int(part.deadline.searchsorted(instant))
            count += found
            if found < len(part):
                break
        return count

    def deadline_at(self, position: int) -> float:
        """Return the deadline of the record at a position, from 0."""
        for part in self._parts:
            if position < len(part):
                return float(part.deadline[position])
            position -= len(part)
        raise IndexError(f"there is no record at position {position} behind the last one")

    def sample(self, first: int, size: int) -> QueueSample:
        """Return every k-th record from position `first` on, with k as small as leaves at most `size` of them."""
        step = max(-(-(self._length - first) // size), 1)
        deadlines, arrivals, skipped = [_NO_TIMES], [_NO_TIMES], first
        for part in self._parts:
            deadlines.append(part.deadline[skipped::step])
            arrivals.append(part.arrival[skipped::step])
            skipped -= len(part)
            if skipped < 0:
                skipped %= step
        positions = np.arange(first, self._length, step, dtype=np.float64)
        return QueueSample(positions, np.concatenate(deadlines), np.concatenate(arrivals))

    def offsets(self) -> NDArray[np.int64]:
        """Return the offsets of all records, in the order of the queue."""
        return self._column("offset")

    def records(self) -> Records:
        """Return all records without removing them."""
        return self._concatenate_parts()

    def dequeue(self, rows: int | slice | NDArray[np.int64]) -> Records:
        """Remove and return records: that many from the front, those of a slice, or those at given positions."""
        if isinstance(rows, np.ndarray) and len(rows) and (np.diff(rows) == 1).all():
            rows = slice(int(rows[0]), int(rows[-1]) + 1)
        if isinstance(rows, np.ndarray):
            whole = self._concatenate_parts()
            stay = np.ones(len(whole), dtype=np.bool_)
            stay[rows] = False
            self._parts = deque([whole.take(stay)])
            self._length -= len(rows)
            return whole.take(rows)
        first, last, _ = (rows if isinstance(rows, slice) else slice(rows)).indices(self._length)
        before = self._pop(first)
        taken = self._pop(last - first)
        self._parts.extendleft(reversed(before))
        self._length += sum(map(len, before))
        return Records.concatenate(taken) if taken else Records.empty()

    def dequeue_parts(self, n: int) -> list[Records]:
        """Remove and return the first `n` records, in the parts in which they are held, without a copy."""
        return self._pop(n)

    def remove(self, offsets: NDArray[np.int64]) -> int:
        """Remove the records with these offsets; return how many there were."""
        rows = np.flatnonzero(np.isin(self.offsets(), offsets))
        if len(rows):
            self.dequeue(rows)
        return len(rows)

    def _pop(self, wanted: int) -> list[Records]:
        """Remove and return the parts with the first `wanted` records; the last of them is cut if necessary."""
        popped = []
        while wanted > 0:
            part = self._parts.popleft()
            if len(part) > wanted:
                self._parts.appendleft(part.take(slice(wanted, None)))
                part = part.take(slice(wanted))
            popped.append(part)
            wanted -= len(part)
            self._length -= len(part)
        return popped

    def _end_of_part(self, wanted: int) -> int:
        """Return how many records to remove from the front, `wanted` or more, so that no part is cut."""
        ends = itertools.accumulate(map(len, self._parts), initial=0)
        return next(end for end in ends if end >= wanted)

    def _insert(self, records: Records) -> None:
        """Insert records where their deadlines belong; of the others, only those between them are copied."""
        if len(records) == 0:
            return
        self._length += len(records)
        if np.any(records.deadline[1:] < records.deadline[:-1]):
            records = records.take(np.argsort(records.deadline, kind="stable"))
        between, behind = self._split_off(float(records.deadline[0]), float(records.deadline[-1]))
        if between:
            whole = Records.concatenate([*between, records])
            records = whole.take(np.lexsort((whole.sequence, whole.deadline)))
        self._parts.append(records)
        self._parts.extend(behind)
        if len(self._parts) > _MAX_PARTS + 2 * self._length // _SMALL_PART:
            self._join_small_parts()

    def _split_off(self, first: float, last: float) -> tuple[deque[Records], deque[Records]]:
        """Remove and return the records that are due from `first` to `last`, and those that are due later.

        If no record is due after `first` all of them stay, also those that are due at `first`.
        """
        between: deque[Records] = deque()
        behind: deque[Records] = deque()
        while self._parts and len(self._parts[-1]) == 0:
            self._parts.pop()
        if not self._parts or self._parts[-1].deadline[-1] <= first:
            return between, behind
        while self._parts and (len(self._parts[-1]) == 0 or self._parts[-1].deadline[-1] >= first):
            part = self._parts.pop()
            start, stop = part.deadline.searchsorted(first), part.deadline.searchsorted(last, side="right")
            if start > 0:
                self._parts.append(part.take(slice(start)))
            if start < stop:
                between.appendleft(part.take(slice(start, stop)))
            if stop < len(part):
                behind.appendleft(part.take(slice(stop, None)))
        return between, behind

    def _join_small_parts(self) -> None:
        """Join the first neighbours that are small together; other parts are not copied."""
        parts, start, size = list(self._parts), 0, 0
        for stop, part in enumerate(parts):
            if size + len(part) > _SMALL_PART:
                if stop - start > 1:
                    break
                start, size = stop, 0
            size += len(part)
        else:
            stop = len(parts)
        self._parts = deque([*parts[:start], Records.concatenate(parts[start:stop]), *parts[stop:]])

    def _concatenate_parts(self) -> Records:
        if len(self._parts) > 1:
            self._parts = deque([Records.concatenate(list(self._parts))])
        return self._parts[0] if self._parts else Records.empty()

    def _column(self, name: str) -> NDArray[Any]:
        columns: list[NDArray[Any]] = [getattr(part, name) for part in self._parts]
        if len(columns) == 1:
            return columns[0]
        return np.concatenate(columns) if columns else np.empty(0, dtype=np.int64)
