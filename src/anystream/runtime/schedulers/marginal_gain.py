"""The steps go to the records that gain most by them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from anystream.anytime.answer import Answer
from anystream.connectors.items import Items
from anystream.runtime.gain_table import GainTable
from anystream.runtime.schedulers.deadline_share import DeadlineShare
from anystream.runtime.schedulers.protocol import Again, Plan, Situation

_POOL = 32  # a batch lasts long enough for so many records of a step each: those that gain most must be among them


@dataclass(frozen=True, slots=True)
class _Second:
    """What is meant to happen after the first answers of a batch."""

    level: int
    next: int
    end: float  # the instant at which the batch should be over
    call: float
    each: float  # seconds of a record that is asked again


class MarginalGain:
    """Everyone gets a first answer; the rest of the time goes to those whose accuracy rises most by it.

    Parameters
    ----------
    table : GainTable
        What more steps bring, by level and confidence; the performance profile of the model.
    least_gain : float, default=0.002
        A record whose expected rise is smaller is not asked again; and where answers in two rounds promise no more than
        this above equal shares, everyone gets an equal share.
    aim : float, default=0.5
        The part of a record's time in which its answer is aimed at; see `DeadlineShare`.

    Notes
    -----
    Who is answered next, and in what time, is decided as by `DeadlineShare`: the batch is the pool. A pool whose time
    allows n steps each can also be asked with fewer first, and those again with more that gain most, in one native call
    on all cores each. The performance profile says beforehand what the best two levels promise, with the work that is
    done twice counted in. Which records they are is known after the first round, by their confidence.
    """

    def __init__(self, table: GainTable, *, least_gain: float = 0.002, aim: float = 0.5) -> None:
        if not least_gain >= 0.0:
            raise ValueError(f"least_gain is {least_gain}; use 0 or more")
        self.table = table
        self.least_gain = least_gain
        self._steps = np.array(table.levels, dtype=np.float64)
        self._share = DeadlineShare(most=table.levels[-1], aim=aim)
        self._second: _Second | None = None

    def plan(self, situation: Situation) -> Plan:
        """The batch of `DeadlineShare`, with an equal share for everyone or, if that promises more, in two rounds."""
        cost = situation.cost
        pool_s = _POOL * (cost.record + cost.step)
        equal = self._share.plan(replace(situation, batch_s=max(situation.batch_s, pool_s)))
        self._second = None
        steps, top = equal.steps, self.table.levels[-1]
        if steps is None or steps >= top or equal.expected_s <= 0.0:
            return equal
        n, each = equal.size, cost.record + self._steps * cost.step
        lower, higher = self.table.pairs
        parts = (equal.expected_s - 2.0 * cost.call - n * each[lower]) / (n * each[higher])
        promises = np.where(parts > 0.0, self.table.promises(parts), 0.0)
        best = int(promises.argmax())
        if promises[best] <= self.table.at(steps) + self.least_gain:
            return equal
        first, next_ = int(lower[best]), int(higher[best])
        self._second = _Second(first, next_, situation.now + equal.expected_s, cost.call, float(each[next_]))
        return Plan(equal.rows, self.table.levels[first], equal.until, equal.expected_s)

    def again(self, answer: Answer, now: float) -> Again | None:
        """The records that gain most, as many as the time of the batch allows."""
        second, self._second = self._second, None
        if second is None:
            return None
        affordable = int((second.end - now - second.call) / second.each)
        if affordable < 1:
            return None
        gains = self.table.gain(second.level, second.next, answer.proba.max(axis=1))
        gains[answer.certified] = 0.0
        rows = np.flatnonzero(gains > self.least_gain)
        if len(rows) > affordable:
            rows = rows[np.argsort(-gains[rows], kind="stable")[:affordable]]
        return Again(np.sort(rows), self.table.levels[second.next]) if len(rows) else None

    def saw(self, batch: Items, answer: Answer, now: float) -> None:
        """As `DeadlineShare`: answers that come close to their deadlines make it more careful."""
        self._share.saw(batch, answer, now)
