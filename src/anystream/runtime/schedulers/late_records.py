"""Records that cannot be on time any more, or only at the cost of others."""

from __future__ import annotations

import math
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

    def slack_s(self, left_s: NDArray[np.float64], records_before: NDArray[np.float64]) -> float:
        """Return the seconds that other work may take before records with so little time left would be late."""
        return float(np.min(left_s - self.room_s - records_before * self.each_s, initial=np.inf))


def count_late(context: SchedulerContext, sample_size: int) -> LateRecords:
    """Return how many of the first records to give up: as few as possible so that all others can be on time.

    Record i of those that are kept is answered i + 1 records from now, at the end of its batch; the first needs time
    for a batch of the usual length. Batches on the verge of a deadline are short, and short batches are expensive: a
    queue of which each record is just in time would stay on that verge. So where the next batch would be on it, too,
    the first record needs time for two that keep up with the arrivals; and where any is given up for others, for two of
    the usual length. All records cost the same at budget 0, so that no other choice has more records on time.

    Parameters
    ----------
    context : SchedulerContext
        The state of the engine.
    sample_size : int
        How many of the records that have the time for a batch are looked at; the places of others are not exact.
    """
    cost, queue = context.cost, context.queue
    longest_s = _MAX_SHARE * (queue.deadline_at(len(queue) - 1) - context.now)
    batch_s = max(min(cost.estimate_s(context.records_for(0), 0), longest_s), cost.estimate_s(1, 0))
    batch_size = max((batch_s - cost.call_s) / cost.record_s, 1.0)
    each_s = batch_s / batch_size
    room_s = batch_s
    first = queue.count_due_before(context.now + room_s)  # they have too little time, even in front of all others
    behind_batch = first + int(batch_size)
    if behind_batch < len(queue):
        keep_up_s = _ROOM * min(context.keep_up_s(), batch_s)
        if queue.deadline_at(behind_batch) - context.now - batch_s < keep_up_s:  # on the verge after this batch, too
            room_s = max(room_s, keep_up_s)
            first = queue.count_due_before(context.now + room_s)
    sample = queue.sample(first, sample_size)
    behind = sample.positions - (sample.deadlines - context.now) / each_s
    worst = np.append(np.maximum.accumulate(behind[::-1])[::-1], -np.inf)  # of each record and all others behind it
    spare = sample.positions - worst[:-1]  # ascending: the time that they leave it if it is the first, in records
    if len(spare) == 0 or spare[0] >= room_s / each_s:
        return LateRecords(first, room_s, each_s)
    room_s = _ROOM * batch_s
    kept = int(spare.searchsorted(room_s / each_s))
    needed = math.ceil(max(worst[kept] + room_s / each_s, 0.0))
    count = max(needed, int(sample.positions[kept - 1]) + 1, queue.count_due_before(context.now + room_s))
    return LateRecords(count, room_s, each_s)
