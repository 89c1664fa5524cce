"""Replay of a source by a schedule: records become ready at given instants."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anystream.runtime.clock import Clock
from anystream.runtime.contracts import PollResult, Source
from anystream.runtime.records import Records, RejectedRecord
from anystream.runtime.source_wrapper import SourceWrapper

Schedule = Callable[[int, Records], NDArray[np.float64]]
"""Returns the seconds after the start at which records arrive, from the number of the first one and the records.

NaN rejects a record."""

_READ_AHEAD = 512  # records read from the source at a time
_MAX_READ_AHEAD = 8192  # after a pause, if so many are due


def at_rate(records_per_s: float) -> Schedule:
    """Return a schedule of evenly spaced records."""
    if not records_per_s > 0.0:
        raise ValueError(f"the rate is {records_per_s}; use a positive number of records per second")
    return lambda first, records: np.arange(first, first + len(records)) / records_per_s


def at_times(arrival_times_s: ArrayLike) -> Schedule:
    """Return a schedule in which record i arrives `arrival_times_s[i]` after the start; later records never arrive."""
    times = np.asarray(arrival_times_s, dtype=np.float64)
    if times.ndim != 1 or np.any(np.diff(times) < 0.0):
        raise ValueError("arrival times do not ascend; give one ascending sequence of seconds")

    def schedule(first: int, records: Records) -> NDArray[np.float64]:
        given = times[first : first + len(records)]
        return np.concatenate([given, np.full(len(records) - len(given), math.inf)])

    return schedule


def as_recorded(speed: float = 1.0) -> Schedule:
    """Return a schedule with the intervals of the recorded times, divided by `speed`.

    A recorded time before that of the previous record counts as equal to it. Records without one are rejected.
    """
    if not speed > 0.0:
        raise ValueError(f"speed is {speed}; use a positive factor")
    start = last = math.nan

    def schedule(first: int, records: Records) -> NDArray[np.float64]:
        nonlocal start, last
        recorded, known = records.arrival.copy(), ~np.isnan(records.arrival)
        if known.any():
            if math.isnan(start):
                start = last = float(recorded[known][0])
            recorded[known] = np.maximum.accumulate(np.maximum(recorded[known], last))
            last = float(recorded[known][-1])
        return (recorded - start) / speed

    return schedule


class Replay(SourceWrapper):
    """A source whose records arrive by a schedule.

    The arrival of a record is its scheduled instant, even if the engine polls it later: the time that a record spends
    outside, because the engine is busy or its queue is full, counts as waiting.

    Parameters
    ----------
    source : Source
        The source of the records.
    schedule : Schedule
        When they arrive: `at_rate`, `at_times` or `as_recorded`.
    clock : Clock
        The time; the replay starts with the first poll.
    """

    def __init__(self, source: Source, schedule: Schedule, clock: Clock) -> None:
        super().__init__(source)
        self._schedule = schedule
        self._clock = clock
        self._start: float | None = None
        self._n_read = 0
        self._last_arrival = self._per_s = 0.0  # of the records that were read last
        self._ahead = self._nothing = Records.empty()
        self._rejected: list[RejectedRecord] = []

    @property
    def offset(self) -> int:
        """Where the next record begins."""
        if self._rejected and (len(self._ahead) == 0 or self._rejected[0].offset < self._ahead.offset[0]):
            return self._rejected[0].offset
        return int(self._ahead.offset[0]) if len(self._ahead) else self._source.offset

    @property
    def done(self) -> bool:
        """Whether all records have arrived, or the rest never will."""
        if len(self._ahead) and math.isinf(self._ahead.arrival[0]):
            return True
        return len(self._ahead) == 0 and not self._rejected and self._source.done

    def poll(self, max_records: int) -> PollResult:
        """Return the records that are due."""
        now = self._clock.now()
        if self._start is None:
            self._start = now
        self._read_ahead(now, max_records)
        n_due = min(int(self._ahead.arrival.searchsorted(now, side="right")), max_records)
        if n_due == 0 and not self._rejected:
            return PollResult(self._nothing, [])
        records, self._ahead = self._ahead.take(slice(n_due)), self._ahead.take(slice(n_due, None))
        limit = self._ahead.offset[0] if len(self._ahead) else math.inf
        rejected = [found for found in self._rejected if found.offset < limit]
        self._rejected = self._rejected[len(rejected) :]
        return PollResult(records, rejected)

    def wait(self, seconds: float) -> None:
        """Sleep until the next record is due, and for `seconds` at most."""
        if len(self._ahead) == 0:
            if self._source.done:
                return
            self._clock.sleep(seconds)
        else:
            self._clock.sleep(min(seconds, max(float(self._ahead.arrival[0]) - self._clock.now(), 0.0)))

    def fingerprint(self) -> dict[str, Any]:
        """Return the fingerprint of the replayed source."""
        return self._source.fingerprint()

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from `offset`; the schedule continues with its next time."""
        self._source.seek(offset, fingerprint)
        self._n_read -= len(self._ahead)
        self._ahead, self._rejected = Records.empty(), []

    def close(self) -> None:
        """Close the replayed source."""
        self._source.close()

    def _read_ahead(self, now: float, max_records: int) -> None:
        """Read up to the first record that is not due yet, and little further: reading delays the records that are."""
        assert self._start is not None
        parts = [self._ahead] if len(self._ahead) else []
        n_ahead = len(self._ahead)
        while n_ahead < max_records and not self._source.done and not (parts and parts[-1].arrival[-1] > now):
            n_due = int((now - self._last_arrival) * self._per_s) if self._per_s > 0.0 else 0
            records, rejected = self._source.poll(max(min(n_due, max_records - n_ahead, _MAX_READ_AHEAD), _READ_AHEAD))
            if len(records):
                records.arrival = self._start + self._schedule(self._n_read, records)
            untimed = np.isnan(records.arrival)
            rejected = [*rejected, *records.take(untimed).reject("the record has no time; give it in the time column")]
            self._rejected.extend(sorted(rejected, key=lambda found: found.offset))
            records = records.take(~untimed) if untimed.any() else records
            if len(records) == 0:
                break
            self._n_read += len(records)
            self._note_rate(records.arrival)
            n_ahead += len(records)
            parts.append(records)
        if len(parts) > 1:
            self._ahead = Records.concatenate(parts)
        elif parts:
            self._ahead = parts[0]

    def _note_rate(self, arrival: NDArray[np.float64]) -> None:
        """Note how many records arrive per second, from those that were read last."""
        spread_s = float(arrival[-1]) - float(arrival[0])
        self._last_arrival = float(arrival[-1])
        self._per_s = len(arrival) / spread_s if 0.0 < spread_s < math.inf else 0.0
