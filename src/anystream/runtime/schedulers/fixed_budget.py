"""Equal steps for every record, for streams without deadlines and for classifiers without budgets."""

from __future__ import annotations

from anystream.runtime.schedulers.contract import BatchPlan, SchedulerContext, SingleRound, check_max_steps

_UNLIMITED = 1000  # steps that a record is assumed to take where nothing limits it


class FixedBudget(SingleRound):
    """Every record gets the same number of steps, in the order of the queue, however long the queue is.

    Parameters
    ----------
    steps : int or None
        Steps per record; None refines until nothing is left to do.
    """

    def __init__(self, steps: int | None) -> None:
        self.steps = check_max_steps(steps)

    def plan(self, context: SchedulerContext) -> BatchPlan:
        """Return the first records of the queue."""
        expected = _UNLIMITED if self.steps is None else self.steps
        return BatchPlan(context.records_for(expected), self.steps)
