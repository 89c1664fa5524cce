"""Records that cannot be on time any more, or only at the cost of others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.schedulers.contract import SchedulerContext

_MAX_SHARE = 0.5  # a batch takes at most this fraction of the longest time left


@dataclass(frozen=True, slots=True)
class LateRecords:
    """How many records, the first of the queue, are given up so that all others can be on time.

    Parameters
    ----------
    count : int
        Number of records.
    batch_s, each_s : float
        Seconds of an efficient batch at budget 0, and of each record in it.
    """

    count: int
    batch_s: float
    each_s: float

    def slack_s(self, left_s: NDArray[np.float64]) -> float:
        """Return the seconds that other work may take before records with so little time left would be late."""
        return float(np.min(left_s - self.batch_s - np.arange(len(left_s)) * self.each_s, initial=np.inf))


def count_late(context: SchedulerContext, deadlines: NDArray[np.float64]) -> LateRecords:
    """Return how many of the first records to give up: as few as possible so that all others can be on time.

    Record i of those that are kept is answered i + 1 records from now, at the end of its batch. Batches on the verge
    of a deadline would be small, and small batches are expensive: records that have no time for a batch of the usual
    length are given up if the others need the time. All records cost the same at budget 0, so that no other choice
    has more records on time.

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
    n_hopeless = int(np.searchsorted(left_s, batch_s))  # they have no time for a batch, even in front of all others
    places = np.arange(n - n_hopeless)
    excess = places - (left_s[n_hopeless:] - batch_s) / each_s  # records before this one that leave it no time
    if not (excess > 0.0).any():
        return LateRecords(n_hopeless, batch_s, each_s)
    worst = np.maximum.accumulate(excess[::-1])[::-1]
    count = int(np.searchsorted(places - worst, 0.0))  # ascending
    return LateRecords(n_hopeless + count, batch_s, each_s)
