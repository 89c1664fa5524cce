"""What a scheduler is told, and what it decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer
from anystream.connectors.items import Items
from anystream.runtime.queue import ItemQueue
from anystream.runtime.step_cost import StepCost


@dataclass(frozen=True, slots=True)
class Situation:
    """The state of affairs when the engine is free to work.

    Parameters
    ----------
    queue : ItemQueue
        Who waits, in the order of deadlines.
    now : float
        The present instant.
    cost : StepCost
        What work costs.
    batch_s : float
        Seconds that a batch should take.
    most_records : int
        Most records of a batch.
    rate : float
        Arrivals per second of late.
    ending : bool
        Nothing more will come: what waits should be answered now.
    """

    queue: ItemQueue
    now: float
    cost: StepCost
    batch_s: float
    most_records: int
    rate: float
    ending: bool = False

    def records_for(self, steps: float) -> int:
        """How many records make a batch of the wanted duration at `steps` each.

        At least so many that the cost of the call itself is no more than half of the whole.
        """
        seconds = max(self.batch_s - self.cost.call, self.cost.call)
        each = self.cost.record + steps * self.cost.step
        return int(min(max(seconds / each, 1.0), self.most_records, max(len(self.queue), 1)))

    def is_worth_a_call(self, records: int, steps: float) -> bool:
        """Whether so many records at `steps` each make a full batch, or the call a fifth of the whole at most."""
        work = records * (self.cost.record + steps * self.cost.step)
        return work >= 4.0 * self.cost.call or records >= self.records_for(steps)


@dataclass(frozen=True, slots=True)
class Plan:
    """The next batch.

    Parameters
    ----------
    rows : int, slice or array
        Which elements: so many from the front, or these places of the queue.
    steps : int or None
        Steps per record; None is no limit.
    until : float
        The instant at which the batch must end, whatever the steps.
    """

    rows: int | slice | NDArray[np.int64]
    steps: int | None
    until: float = np.inf

    def at_most(self, n: int) -> int | slice | NDArray[np.int64]:
        """The first `n` of the rows."""
        if isinstance(self.rows, int):
            return min(self.rows, n)
        if isinstance(self.rows, slice):
            return slice(self.rows.start, min(self.rows.stop, self.rows.start + n))
        return self.rows[:n]


class Scheduler(Protocol):
    """Who is answered next, and with how many steps."""

    def plan(self, situation: Situation) -> Plan:
        """The next batch; the queue is not empty."""

    def due(self, situation: Situation) -> NDArray[np.int64] | None:
        """Places of elements whose draft answers must go out now; None if there are none."""

    def final(self, batch: Items, answer: Answer, asked: int | None, now: float) -> NDArray[np.bool_] | None:
        """Which answers of a batch go out; the others are drafts, and their elements wait on. None: all go out."""


class AnswersOnce:
    """For schedulers that answer each element once and for all."""

    def due(self, situation: Situation) -> NDArray[np.int64] | None:
        """There are no drafts."""
        return None

    def final(self, batch: Items, answer: Answer, asked: int | None, now: float) -> NDArray[np.bool_] | None:
        """Every answer goes out."""
        return None


def check_most(most: int | None) -> int | None:
    """A cap on steps per record, or none."""
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 0):
        raise ValueError(f"most is {most!r}; use a whole number of steps from 0 on, or None for no cap")
    return most


def capped(steps: float, most: int | None) -> int | None:
    """Whole steps under a cap; None if both are without limit."""
    if most is not None:
        steps = min(steps, most)
    return None if steps == np.inf else max(int(steps), 0)
