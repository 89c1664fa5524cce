"""A source at a pace of its own: records become ready at given instants."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anystream.connectors.items import Items, Reject
from anystream.connectors.protocols import Polled, Source
from anystream.runtime.clock import Clock

Schedule = Callable[[int, Items], NDArray[np.float64]]
"""Seconds after the start at which records arrive, from the number of the first one and the records."""

_AHEAD = 512  # records read from the source at a time


def at_rate(per_second: float) -> Schedule:
    """Records at even distances."""
    if not per_second > 0.0:
        raise ValueError(f"the rate is {per_second}; use a positive number of records per second")
    return lambda first, items: np.arange(first, first + len(items)) / per_second


def at_times(seconds: ArrayLike) -> Schedule:
    """Record i arrives `seconds[i]` after the start; records beyond the last one never do."""
    times = np.asarray(seconds, dtype=np.float64)
    if times.ndim != 1 or np.any(np.diff(times) < 0.0):
        raise ValueError("arrival times must be one ascending sequence of seconds")

    def schedule(first: int, items: Items) -> NDArray[np.float64]:
        given = times[first : first + len(items)]
        return np.concatenate([given, np.full(len(items) - len(given), math.inf)])

    return schedule


def as_recorded(speed: float = 1.0) -> Schedule:
    """Records at the distances of their recorded times, `speed` times as fast; a time that runs back counts as now."""
    if not speed > 0.0:
        raise ValueError(f"speed is {speed}; use a positive factor")
    start = last = math.nan

    def schedule(first: int, items: Items) -> NDArray[np.float64]:
        nonlocal start, last
        recorded = items.arrival
        if np.isnan(recorded).any():
            raise ValueError("a record has no recorded time; name the column that holds it")
        if math.isnan(start):
            start = last = float(recorded[0])
        recorded = np.maximum.accumulate(np.maximum(recorded, last))
        last = float(recorded[-1])
        return (recorded - start) / speed

    return schedule


class Replay:
    """Another source, whose records arrive by a schedule.

    The arrival of a record is its scheduled instant, even if the engine comes for it later: a record that waits
    outside, because the engine is busy or its queue is full, has waited.

    Parameters
    ----------
    source : Source
        Where the records are.
    schedule : Schedule
        When they come: `at_rate`, `at_times` or `as_recorded`.
    clock : Clock
        The time; the replay starts with the first poll.
    """

    def __init__(self, source: Source, schedule: Schedule, clock: Clock) -> None:
        self._source = source
        self._schedule = schedule
        self._clock = clock
        self._start: float | None = None
        self._read = 0
        self._ahead = Items.none()
        self._rejects: list[Reject] = []
        self._ended = False

    @property
    def offset(self) -> int:
        """Where the next record begins."""
        if self._rejects and (len(self._ahead) == 0 or self._rejects[0].offset < self._ahead.offset[0]):
            return self._rejects[0].offset
        return int(self._ahead.offset[0]) if len(self._ahead) else self._source.offset

    @property
    def done(self) -> bool:
        """All records have come, or none of the rest ever will."""
        if len(self._ahead) and math.isinf(self._ahead.arrival[0]):
            return True
        return len(self._ahead) == 0 and not self._rejects and self._source.done

    def poll(self, most: int) -> Polled:
        """The records whose time has come."""
        now = self._clock.now()
        if self._start is None:
            self._start = now
        self._read_ahead(now, most)
        ready = min(int(np.searchsorted(self._ahead.arrival, now, side="right")), most)
        items, self._ahead = self._ahead.take(slice(ready)), self._ahead.take(slice(ready, None))
        limit = self._ahead.offset[0] if len(self._ahead) else math.inf
        rejects = [reject for reject in self._rejects if reject.offset < limit]
        self._rejects = self._rejects[len(rejects) :]
        return Polled(items, rejects)

    def wait(self, seconds: float) -> None:
        """Sleep until the next record, or for `seconds`."""
        if len(self._ahead) == 0:
            if self._source.done:
                return
            self._clock.sleep(seconds)
        else:
            self._clock.sleep(min(seconds, max(float(self._ahead.arrival[0]) - self._clock.now(), 0.0)))

    def seek(self, offset: int) -> None:
        """Go on from `offset`; the schedule goes on with its next time."""
        self._source.seek(offset)
        self._read -= len(self._ahead)
        self._ahead, self._rejects = Items.none(), []

    def acknowledge(self, offset: int) -> None:
        """Pass it on."""
        self._source.acknowledge(offset)

    def close(self) -> None:
        """Pass it on."""
        self._source.close()

    def _read_ahead(self, now: float, most: int) -> None:
        """Read until a record is not due yet: reading takes time, which those who wait do not have."""
        assert self._start is not None
        parts = [self._ahead] if len(self._ahead) else []
        read = len(self._ahead)
        while read < most and not self._source.done and not (parts and parts[-1].arrival[-1] > now):
            items, rejects = self._source.poll(_AHEAD)
            self._rejects.extend(rejects)
            if len(items) == 0:
                break
            items.arrival = self._start + self._schedule(self._read, items)
            self._read += len(items)
            read += len(items)
            parts.append(items)
        if len(parts) > 1:
            self._ahead = Items.joined(parts)
        elif parts:
            self._ahead = parts[0]
