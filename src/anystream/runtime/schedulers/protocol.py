"""What a scheduler is told, and what it decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

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


@dataclass(frozen=True, slots=True)
class Plan:
    """The next batch.

    Parameters
    ----------
    rows : int or slice
        Which elements: so many from the front, or these places of the queue.
    steps : int or None
        Steps per record; None is no limit.
    until : float
        The instant at which the batch must end, whatever the steps.
    expected_s : float
        Seconds that it should take; 0 if nobody has thought about it.
    """

    rows: int | slice
    steps: int | None
    until: float = np.inf
    expected_s: float = 0.0

    @property
    def size(self) -> int:
        """How many elements."""
        return self.rows if isinstance(self.rows, int) else self.rows.stop - self.rows.start

    def at_most(self, n: int) -> int | slice:
        """The first `n` of the rows."""
        if isinstance(self.rows, int):
            return min(self.rows, n)
        return slice(self.rows.start, min(self.rows.stop, self.rows.start + n))


class Again(NamedTuple):
    """Elements of a batch that are asked once more, and with how many steps."""

    rows: NDArray[np.int64]
    steps: int


class Scheduler(Protocol):
    """Who is answered next, and with how many steps."""

    def plan(self, situation: Situation) -> Plan:
        """The next batch; the queue is not empty."""

    def again(self, answer: Answer, now: float) -> Again | None:
        """Which elements of the planned batch are asked once more, after what was answered; None if that was all."""

    def saw(self, batch: Items, answer: Answer, now: float) -> None:
        """Take note of what became of the batch."""


class AnswersOnce:
    """For schedulers that answer each element once and for all."""

    def again(self, answer: Answer, now: float) -> Again | None:
        """That was all."""
        return None

    def saw(self, batch: Items, answer: Answer, now: float) -> None:
        """Nothing to learn from it."""


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
