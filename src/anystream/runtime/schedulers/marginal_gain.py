"""The next steps go to the records that gain most by them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer
from anystream.connectors.items import Items
from anystream.runtime.gain_table import GainTable
from anystream.runtime.schedulers.protocol import Plan, Situation

_MARGIN = 1.5  # a batch may last this much longer than expected before the clock ends it
_BATCHES_AHEAD = 3.0  # a draft goes out so many batches before its deadline, or
_SHARE_AHEAD = 0.25  # when this part of its time is left, whichever is earlier
_FRESH_WAITS = 0.125  # part of its time that a record waits for others to share a call with


class MarginalGain:
    """A pool of draft answers: everyone gets one at once, then those are improved whose accuracy rises most per second.

    Parameters
    ----------
    table : GainTable
        What more steps bring, by level and confidence; the performance profile of the model.
    least_gain : float, default=0.001
        An answer whose expected rise is smaller goes out.

    Notes
    -----
    A draft of one level is asked again with the steps of the next. Levels grow by a factor of four, so that the work
    done twice is a third at most; in return a batch is one native call on all cores. Few records wait for others to
    share a call with. An answer goes out when it is
    certified, when it has nothing more to gain, or shortly before its deadline.
    """

    def __init__(self, table: GainTable, *, least_gain: float = 0.001) -> None:
        if not least_gain >= 0.0:
            raise ValueError(f"least_gain is {least_gain}; use 0 or more")
        self.table = table
        self.least_gain = least_gain
        self._fresh_before = False  # the last batch gave first answers

    def plan(self, situation: Situation) -> Plan:
        """In turn: whoever has no answer yet, and the drafts that gain most; both in batches that are worth a call."""
        items = situation.queue.items()
        fresh = np.flatnonzero(items.steps < 0)
        first = self.table.levels[0]
        if len(fresh) and self._is_turn_of_fresh(situation, items, fresh):
            return self._batch(situation, fresh[: situation.records_for(first)], first, fresh=True)
        best: tuple[bool, float, NDArray[np.int64], int] | None = None
        reached = self.table.level_of(items.steps)
        for level in np.unique(reached[items.steps >= 0]):
            at_level = np.flatnonzero(reached == level)
            gains = self.table.gain(int(level), items.confidence[at_level])
            steps = self.table.levels[level + 1]
            chosen = np.argsort(-gains, kind="stable")[: situation.records_for(steps)]
            value = float(gains[chosen].sum()) / situation.cost.of(len(chosen), steps)
            worth = situation.is_worth_a_call(len(chosen), steps)
            if best is None or (worth, value) > best[:2]:
                best = worth, value, at_level[chosen], steps
        if best is None or (len(fresh) and not best[0] and not self._fresh_before):
            return self._batch(situation, fresh[: situation.records_for(first)], first, fresh=True)
        return self._batch(situation, best[2], best[3], fresh=False)

    def _is_turn_of_fresh(self, situation: Situation, items: Items, fresh: NDArray[np.int64]) -> bool:
        first = self.table.levels[0]
        if len(fresh) >= min(situation.records_for(first), len(items)):
            return True
        if self._fresh_before:
            return False
        waited = situation.now - items.arrival[fresh] >= _FRESH_WAITS * (items.deadline - items.arrival)[fresh]
        return situation.is_worth_a_call(len(fresh), first) or bool(waited.any())

    def _batch(self, situation: Situation, rows: NDArray[np.int64], steps: int, *, fresh: bool) -> Plan:
        self._fresh_before = fresh
        longest = max(situation.batch_s, situation.cost.of(len(rows), steps))
        return Plan(rows, steps, situation.now + _MARGIN * longest)

    def due(self, situation: Situation) -> NDArray[np.int64] | None:
        """Drafts whose deadline is near; all of them at the end of the stream."""
        items = situation.queue.items()
        allowed = np.where(np.isinf(items.deadline), 0.0, items.deadline - items.arrival)
        ahead = np.maximum(_SHARE_AHEAD * allowed, _BATCHES_AHEAD * max(situation.batch_s, situation.cost.call))
        near = items.deadline - situation.now <= ahead
        rows = np.flatnonzero((items.steps >= 0) & (near | situation.ending))
        return rows if len(rows) else None

    def final(self, batch: Items, answer: Answer, asked: int | None, now: float) -> NDArray[np.bool_] | None:
        """Certified answers, those that have nothing to gain, and those that are late already."""
        confidence = answer.proba.max(axis=1)
        level = int(self.table.level_of(np.array([asked]))[0])
        idle = self.table.gain(level, confidence) <= self.least_gain
        return answer.certified | idle | (batch.deadline <= now)
