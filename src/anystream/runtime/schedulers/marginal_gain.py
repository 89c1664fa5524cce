"""Two rounds: steps go to the records whose expected accuracy they raise most."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from anystream.anytime.answer import Answer
from anystream.runtime.gain_table import GainTable
from anystream.runtime.records import Records
from anystream.runtime.schedulers.contract import BatchPlan, SchedulerContext, SecondRound
from anystream.runtime.schedulers.deadline_share import DeadlineShare

_MIN_POOL = (
    32  # a batch lasts long enough for this many records of one step: a small one has few records to choose from
)


@dataclass(frozen=True, slots=True)
class _SecondRoundPlan:
    """What is planned after the first answers of a batch."""

    level: int
    next_level: int
    end: float  # the instant at which the batch should be over
    call_s: float
    record_s: float  # seconds of a record in the second round


class MarginalGain:
    """A first answer for every record; the rest of the time for those whose expected accuracy rises most.

    Parameters
    ----------
    table : GainTable
        The gain table of the model: the expected rise of accuracy with more steps, by level and confidence.
    min_gain : float, default=0.002
        A record whose expected rise is smaller gets no second round; and where two rounds are expected to gain no more
        than this over equal shares, every record gets an equal share.
    aim : float, default=0.5
        The fraction of a record's time after which its answer should be ready; see `DeadlineShare`.

    Notes
    -----
    `DeadlineShare` decides which records are next and how much time they have: that batch is the pool. A pool whose
    time allows n steps each can also be classified with fewer steps first, and those records that gain most again with
    more, in one native call on all cores each. The gain table tells beforehand what the best two levels are expected to
    reach, including the work that is done twice. Which records gain most is known after the first round, by their
    confidence.
    """

    def __init__(self, table: GainTable, *, min_gain: float = 0.002, aim: float = 0.5) -> None:
        if not min_gain >= 0.0:
            raise ValueError(f"min_gain is {min_gain}; use 0 or more")
        self.table = table
        self.min_gain = min_gain
        self._share = DeadlineShare(max_steps=table.levels[-1], aim=aim)
        self._planned: _SecondRoundPlan | None = None

    def plan(self, context: SchedulerContext) -> BatchPlan:
        """Return the batch of `DeadlineShare`: equal shares or, if that is expected to gain more, two rounds."""
        cost = context.cost
        pool_s = _MIN_POOL * cost.each_s(1)
        equal = self._share.plan(replace(context, batch_s=max(context.batch_s, pool_s)))
        self._planned = None
        steps, top = equal.steps, self.table.levels[-1]
        if steps is None or steps >= top or equal.expected_s <= 0.0:
            return equal
        n, each_s = equal.size, np.array([cost.each_s(level) for level in self.table.levels])
        lower, higher = self.table.level_pairs
        shares = (equal.expected_s - 2.0 * cost.call_s - n * each_s[lower]) / (n * each_s[higher])
        accuracy = np.where(shares > 0.0, self.table.expected_accuracy(shares), 0.0)
        best = int(accuracy.argmax())
        if accuracy[best] <= self.table.accuracy_at(steps) + self.min_gain:
            return equal
        level, next_level = int(lower[best]), int(higher[best])
        end = context.now + equal.expected_s
        self._planned = _SecondRoundPlan(level, next_level, end, cost.call_s, float(each_s[next_level]))
        return BatchPlan(equal.rows, self.table.levels[level], equal.until, equal.expected_s)

    def second_round(self, answer: Answer, now: float) -> SecondRound | None:
        """Return the records that gain most, as many as the time of the batch allows."""
        planned, self._planned = self._planned, None
        if planned is None:
            return None
        affordable = int((planned.end - now - planned.call_s) / planned.record_s)
        if affordable < 1:
            return None
        gains = self.table.expected_gain(planned.level, planned.next_level, answer.proba.max(axis=1))
        gains[answer.settled] = 0.0
        rows = np.flatnonzero(gains > self.min_gain)
        if len(rows) > affordable:
            rows = rows[np.argsort(-gains[rows], kind="stable")[:affordable]]
        return SecondRound(np.sort(rows), self.table.levels[planned.next_level]) if len(rows) else None

    def observe(self, batch: Records, answer: Answer, now: float) -> None:
        """Plan less of the time after answers that came close to their deadlines, as `DeadlineShare` does."""
        self._share.observe(batch, answer, now)
