"""The rule of LOCUST: steps such that the queue is empty after a target waiting time."""

from __future__ import annotations

import math

from anystream.runtime.schedulers.contract import (
    BatchPlan,
    SchedulerContext,
    SingleRound,
    check_max_steps,
    limit_steps,
)


class WaitingTime(SingleRound):
    """Steps such that the present queue is classified in the target waiting time: Eq. 8 and 9 of [1]_.

    Parameters
    ----------
    target_s : float
        t_w, the target waiting time in seconds.
    max_steps : int, optional
        Maximum number of steps per record. The paper has no maximum: a single waiting record gets t_w / t' steps.
    min_steps : int, default=1
        Minimum number of steps per record.

    Notes
    -----
    n_s = t_w / (q_c · t'), where q_c is the length of the queue, the current record included, and t' the average time
    of a step in the history of the stream. It is computed for every batch, where the paper computes it for every
    record; a batch lasts a few milliseconds. The rule lets the queue grow until waiting equals t_w, even on an idle
    machine, and overshoots, because it ignores how long the records have waited already.

    References
    ----------
    .. [1] Aggarwal, Yu, "LOCUST: an online analytical processing framework for high dimensional classification of data
       streams", ICDE 2008.
    """

    def __init__(self, target_s: float, *, max_steps: int | None = None, min_steps: int = 1) -> None:
        if not 0.0 < target_s < math.inf:
            raise ValueError(f"target_s is {target_s}; use a positive number of seconds")
        self.target_s = target_s
        self.max_steps = check_max_steps(max_steps)
        self.min_steps = min_steps

    def plan(self, context: SchedulerContext) -> BatchPlan:
        """Return the first records, with n_s steps each."""
        steps = max(self.target_s / (len(context.queue) * context.cost.average_step_s), self.min_steps)
        return BatchPlan(context.records_for(steps), limit_steps(steps, self.max_steps))
