"""Records that cannot be on time any more, or only at the cost of others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.schedulers.contract import SchedulerContext

_MAX_SHARE = 0.25  # a batch takes at most this fraction of the longest time left
_ROOM = 2.0  # batches that fit into the time that the first record has left


@dataclass(frozen=True, slots=True)
class LateRecords:
    """How many records, the first of the queue, are given up so that all others can be on time.

    Parameters
    ----------
    count : int
        Number of records.
    room_s : float
        Seconds that a record must have left to be kept, if it is the first.
    each_s : float
        Seconds of each record before it, in efficient batches at budget 0.
    """

    count: int
    room_s: float
    each_s: float

    def slack_s(self, left_s: NDArray[np.float64]) -> float:
        """Return the seconds that other work may take before records with so little time left would be late."""
        return float(np.min(left_s - self.room_s - np.arange(len(left_s)) * self.each_s, initial=np.inf))


def count_late(context: SchedulerContext, deadlines: NDArray[np.float64]) -> LateRecords:
    """Return how many of the first records to give up: as few as possible so that all others can be on time.

    Record i of those that are kept is answered i + 1 records from now, at the end of its batch. Batches on the verge
    of a deadline would be short, and short batches are expensive: a queue of which each record is just in time would
    stay on that verge. So records need time for a batch that keeps up with the arrivals, twice over; and where any is
    given up for others, time for two batches of the usual length. All records cost the same at budget 0, so that no
    other choice has more records on time.

    Parameters
    ----------
    context : SchedulerContext
        The state of the engine.
    deadlines : array of shape (n_records,)
        Deadlines of the queue, ascending.
    """
    cost, n = context.cost, len(deadlines)
    left_s = deadlines - context.now
    one_s = cost.estimate_s(1, 0)
    batch_s = max(min(cost.estimate_s(context.records_for(0), 0), _MAX_SHARE * float(left_s[-1])), one_s)
    each_s = batch_s / max((batch_s - cost.call_s) / cost.record_s, 1.0)
    room_s = max(batch_s, _ROOM * min(context.keep_up_s(), batch_s))
    first = int(left_s.searchsorted(room_s))  # those before it have too little time, even in front of all others
    places = np.arange(n - first, dtype=np.float64)
    worst = np.maximum.accumulate((places - left_s[first:] / each_s)[::-1])[::-1]
    spare = places - worst  # ascending: the time that all others leave each record if it is the first, in records
    count = int(spare.searchsorted(room_s / each_s))
    if count > 0:
        room_s = _ROOM * batch_s
        count = int(spare.searchsorted(room_s / each_s))
    return LateRecords(first + count, room_s, each_s)
