"""As many steps as everyone in the queue can have and still be in time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer
from anystream.connectors.items import Items
from anystream.runtime.schedulers.early_ends import EarlyEnds
from anystream.runtime.schedulers.protocol import AnswersOnce, Plan, Situation, capped, check_most

_MARGIN = 1.5  # a batch may last this much longer than expected before the clock ends it, or
_SLICE = 0.25  # this part of the time that its first record has left; no batch is meant to take longer
_MOST_GIVEN, _LEAST_GIVEN = 0.95, 0.05  # bounds of the part of the time that is given out: estimates err
_LATE_IN_TIME = 0.75  # answers that took more than this part of their time were too close
_SHORTEST_S = 0.0002
_FULLEST = 0.5  # part of the queue that may fill
_UNKNOWN = 1000.0  # steps of an answer that nothing limits, as long as none was seen
_LATE_SHARE = 0.125  # part of the time for records that are late already


class DeadlineShare(AnswersOnce):
    """The largest equal share of steps with which no deadline in the queue is missed.

    Parameters
    ----------
    most : int, optional
        Most steps of a record, so that an idle machine does not work for nothing.
    aim : float, default=0.5
        The part of a record's time in which its answer is aimed at; the rest is for what nobody can plan, such as other
        work on the machine.
    headroom : float or None, default=None
        Also look ahead: at the present rate of arrivals, spend at most this part of the machine. Waiting stays short
        then, for a little accuracy. With None all the time that is there is used.

    Notes
    -----
    The record at place j (from 0) is in time if (j + 1) · (r + n · s) ≤ e · (l_j - c), with c, r and s the cost of a
    call, a record and a step, l_j the time left to what is aimed at (but at least a quarter of the time to the
    deadline), and e what calls and some care leave of the time, less after answers that came close to their
    deadlines; n is the smallest that any place allows. A record that waits alone gets a quarter of that at most:
    others may come; nor may the queue fill by more than half, at the present rate of arrivals. n is what an answer
    takes on average: those that stop early, because nothing could change them, leave time for the others, which may
    take more (`EarlyEnds`). All this is computed anew for every batch. Records that cannot be in time any more hold
    nobody up: they are answered at budget 0 in an eighth of the time, or when nobody else waits, or when they fill
    half of the queue. The defaults of `aim` and `headroom` were chosen in simulations, by
    ``benchmarks.runtime.share_settings``.
    """

    def __init__(self, *, most: int | None = None, aim: float = 0.5, headroom: float | None = None) -> None:
        if headroom is not None and not 0.0 < headroom <= 1.0:
            raise ValueError(f"headroom is {headroom}; use the part of the machine to spend, above 0 and up to 1")
        if not 0.0 < aim <= 1.0:
            raise ValueError(f"aim is {aim}; use a part of a record's time, above 0 and up to 1")
        self.most = check_most(most)
        self.aim = aim
        self.headroom = headroom
        self._credit_s = 0.0  # time that late records may take
        self._given = _MOST_GIVEN  # part of the time that is given out
        self._ends = EarlyEnds()

    def plan(self, situation: Situation) -> Plan:
        """The most urgent records that can be in time, with an equal share each."""
        cost, now = situation.cost, situation.now
        deadlines = situation.queue.deadlines()
        n_late = int(np.searchsorted(deadlines, now + cost.call + cost.record))
        if n_late and self._is_turn_of_late(situation, n_late):
            n = min(n_late, situation.records_for(0))
            self._credit_s = max(self._credit_s - cost.of(n, 0), 0.0)
            return Plan(n, 0, now + _MARGIN * max(situation.batch_s, cost.of(n, 0)), cost.of(n, 0))

        left = self._time_left(situation, deadlines)[n_late:]
        share = self._share(situation, left)
        allowance = min(self._ends.allowance(share), math.inf if self.most is None else self.most)
        limit = capped(allowance, None)
        guess = min(share, self._ends.spent(allowance))
        if guess == math.inf:
            guess = _UNKNOWN
        hard = float(deadlines[n_late]) - now
        duration = min(situation.batch_s, max(hard * _SLICE, _SHORTEST_S))
        seconds = max(duration - cost.call, cost.call)
        n = int(min(seconds / (cost.record + guess * cost.step), situation.most_records, len(left)))
        n = max(n, 1)
        expected = cost.of(n, guess)
        self._credit_s += _LATE_SHARE * expected if n_late else 0.0
        until = now + min(max(hard - cost.call, 0.0), max(_MARGIN * max(expected, duration), _SLICE * hard))
        return Plan(slice(n_late, n_late + n), limit, until, expected)

    def _time_left(self, situation: Situation, deadlines: NDArray[np.float64]) -> NDArray[np.float64]:
        """Seconds to what is aimed at, or to the deadline, scaled down, if that has passed."""
        hard = deadlines - situation.now
        if self.aim == 1.0:
            return hard
        spare = (1.0 - self.aim) * (deadlines - situation.queue.arrivals())
        spare[np.isnan(spare) | np.isinf(spare)] = 0.0  # without a deadline there is nothing to spare
        return np.asarray(np.maximum(hard - spare, _SLICE * hard))

    def saw(self, batch: Items, answer: Answer, now: float) -> None:
        """When answers come close to their deadlines, less is given out from now on."""
        self._ends.see(answer)
        used = float(np.max((now - batch.arrival) / (batch.deadline - batch.arrival)))
        if used > _LATE_IN_TIME:
            self._given = max(0.7 * self._given, _LEAST_GIVEN)
        else:
            self._given = min(self._given + 0.01, _MOST_GIVEN)

    def _is_turn_of_late(self, situation: Situation, n_late: int) -> bool:
        if n_late == len(situation.queue) or n_late > situation.queue.capacity // 2:
            return True
        return self._credit_s >= situation.cost.of(min(n_late, situation.records_for(0)), 0)

    def _share(self, situation: Situation, left: NDArray[np.float64]) -> float:
        cost = situation.cost
        places = np.arange(1, len(left) + 1)
        if situation.rate > 0.0:  # at this rate a longer wait than that would fill the queue
            left = np.minimum(left, _FULLEST * situation.queue.capacity / situation.rate)
        use = self._given * (1.0 - cost.call / max(situation.batch_s, 2.0 * cost.call))
        seconds_each = use * float(np.min((left - cost.call) / places))
        seconds_each = min(seconds_each, max(situation.batch_s, _SLICE * float(left[0])))
        if self.headroom is not None and situation.rate > 0.0:
            seconds_each = min(seconds_each, self.headroom / situation.rate)
        if seconds_each == math.inf:
            return math.inf
        return max((seconds_each - cost.record) / cost.step, 0.0)
