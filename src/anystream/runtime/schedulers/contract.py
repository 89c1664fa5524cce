"""Contract of a scheduler: its input, its decisions and what it observes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer
from anystream.runtime.queue import RecordQueue
from anystream.runtime.records import Records
from anystream.runtime.step_cost import StepCost

_GROWTH = 1.25  # times the present rate of arrivals: what batches must at least keep up with


@dataclass(frozen=True, slots=True)
class SchedulerContext:
    """The state of the engine before a batch is planned.

    Parameters
    ----------
    queue : RecordQueue
        The records that wait, in the order of deadlines.
    now : float
        The present instant, in seconds on the engine's clock.
    cost : StepCost
        Estimated cost of a batch.
    batch_s : float
        Seconds that a batch should take.
    max_records : int
        Maximum number of records in a batch.
    arrivals_per_s : float
        Rate of arrivals over the last second or so.
    """

    queue: RecordQueue
    now: float
    cost: StepCost
    batch_s: float
    max_records: int
    arrivals_per_s: float

    def records_for(self, steps: float) -> int:
        """Return how many records make a batch of the wanted duration at `steps` each.

        Enough that the cost of the call itself is at most half of the whole.
        """
        seconds = max(self.batch_s - self.cost.call_s, self.cost.call_s)
        return int(min(max(seconds / self.cost.each_s(steps), 1.0), self.max_records, max(len(self.queue), 1)))

    def keep_up_s(self) -> float:
        """Return the seconds of a batch at budget 0 that is just long enough for the records that arrive meanwhile.

        The cost of the call weighs more in shorter ones. Infinite if none is long enough.
        """
        spare = 1.0 - _GROWTH * self.arrivals_per_s * self.cost.record_s
        return self.cost.call_s / spare if spare > 0.0 else np.inf


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The next batch.

    Parameters
    ----------
    rows : int or slice
        Which records: this many from the front of the queue, or those at these positions.
    steps : int or None
        Maximum number of steps per record; None is no limit.
    until : float
        The instant at which the batch must end, whatever the steps; in seconds on the engine's clock.
    expected_s : float
        Seconds that it should take; 0 if the scheduler has no estimate.
    """

    rows: int | slice
    steps: int | None
    until: float = np.inf
    expected_s: float = 0.0

    @property
    def size(self) -> int:
        """Number of records."""
        return self.rows if isinstance(self.rows, int) else self.rows.stop - self.rows.start

    def first_rows(self, max_records: int) -> int | slice:
        """Return the first `max_records` of the rows."""
        if isinstance(self.rows, int):
            return min(self.rows, max_records)
        return slice(self.rows.start, min(self.rows.stop, self.rows.start + max_records))


class SecondRound(NamedTuple):
    """Records of a batch to classify once more, and the number of steps."""

    rows: NDArray[np.int64]
    steps: int


class Scheduler(Protocol):
    """Decides which records are classified next, and with how many steps."""

    def plan(self, context: SchedulerContext) -> BatchPlan:
        """Return the next batch; the queue is not empty."""

    def second_round(self, answer: Answer, now: float) -> SecondRound | None:
        """Return which records of the planned batch are classified once more, after their `answer`; None for none."""

    def observe(self, batch: Records, answer: Answer, now: float) -> None:
        """Learn from the answers of the planned batch."""


class SingleRound:
    """Base class of schedulers that classify each record once and learn nothing from answers."""

    def second_round(self, answer: Answer, now: float) -> SecondRound | None:
        """Return None: there is no second round."""
        return None

    def observe(self, batch: Records, answer: Answer, now: float) -> None:
        """Do nothing."""


def check_max_steps(max_steps: int | None) -> int | None:
    """Check a maximum number of steps per record; None is no limit."""
    if max_steps is not None and (isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 0):
        raise ValueError(
            f"the maximum number of steps is {max_steps!r}; use an integer of 0 or more, or None for no limit"
        )
    return max_steps


def limit_steps(steps: float, max_steps: int | None) -> int | None:
    """Return whole steps up to a maximum; None if neither is finite."""
    if max_steps is not None:
        steps = min(steps, max_steps)
    return None if steps == np.inf else max(int(steps), 0)
