"""The same steps for everyone: what classifiers do that know no budget."""

from __future__ import annotations

from anystream.runtime.schedulers.protocol import AnswersOnce, Plan, Situation, check_most


class FixedBudget(AnswersOnce):
    """Every record gets the same number of steps, in the order of the queue, whatever waits behind it.

    Parameters
    ----------
    steps : int or None
        Steps per record; None refines until nothing is left to do.
    """

    def __init__(self, steps: int | None) -> None:
        self.steps = check_most(steps)

    def plan(self, situation: Situation) -> Plan:
        """The first records of the queue."""
        guess = 1000 if self.steps is None else self.steps
        return Plan(situation.records_for(guess), self.steps)
