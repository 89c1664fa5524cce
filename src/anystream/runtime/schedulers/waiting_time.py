"""The rule of LOCUST: work through the queue in a target time."""

from __future__ import annotations

import math

from anystream.runtime.schedulers.protocol import AnswersOnce, Plan, Situation, capped, check_most


class WaitingTime(AnswersOnce):
    """Steps such that the present queue is worked off in the target waiting time: Eq. 8 and 9 of [1]_.

    Parameters
    ----------
    target_s : float
        t_w, the target waiting time in seconds.
    most : int, optional
        Most steps of a record. The paper knows no such cap: a record that waits alone gets t_w / t' steps.
    least : int, default=1
        Fewest steps of a record.

    Notes
    -----
    n_s = t_w / (q_c · t'), where q_c is the length of the queue, the current record included, and t' the average time
    of a step in the history of the stream. It is computed anew for every batch, where the paper does so for every
    record; a batch lasts a few milliseconds. The rule fills the queue until waiting equals t_w, even on an idle
    machine, and overshoots, since it does not know how long the records have waited already.

    References
    ----------
    .. [1] Aggarwal, Yu, "LOCUST: an online analytical processing framework for high dimensional classification of data
       streams", ICDE 2008.
    """

    def __init__(self, target_s: float, *, most: int | None = None, least: int = 1) -> None:
        if not 0.0 < target_s < math.inf:
            raise ValueError(f"target_s is {target_s}; use a positive number of seconds")
        self.target_s = target_s
        self.most = check_most(most)
        self.least = least

    def plan(self, situation: Situation) -> Plan:
        """The first records, with n_s steps each."""
        steps = max(self.target_s / (len(situation.queue) * situation.cost.average), self.least)
        return Plan(situation.records_for(steps), capped(steps, self.most))
