"""Equal shares: as many steps as every queued record can have without any missing its deadline."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer
from anystream.runtime.records import Records
from anystream.runtime.schedulers.contract import (
    BatchPlan,
    SchedulerContext,
    SingleRound,
    check_max_steps,
    limit_steps,
)
from anystream.runtime.schedulers.early_stops import EarlyStops
from anystream.runtime.schedulers.late_records import LateRecords, count_late

_MARGIN = 1.5  # a batch may take this many times its expected time before the clock ends it, or
_SLICE = 0.25  # this fraction of the time that its first record has left; batches are planned to take no longer, except
_MAX_SLICE = 0.5  # up to this fraction while records are given up, or where shorter ones could not keep up
_MAX_USED, _MIN_USED = 0.95, 0.05  # bounds of the fraction of the time that is planned: estimates err
_TOO_CLOSE = 0.75  # an answer that took more than this fraction of its time came too close to its deadline
_MIN_BATCH_S = 0.0002
_SAMPLE = 2048  # records of the queue that a plan looks at
_MAX_FILL = 0.5  # fraction of the queue that may fill
_UNLIMITED = 1000.0  # steps that a record is assumed to take where nothing limits it and nothing was observed
_LATE_SHARE = 0.125  # fraction of the time for records that are late already


class DeadlineShare(SingleRound):
    """The largest equal share of steps with which no deadline in the queue is missed.

    Parameters
    ----------
    max_steps : int, optional
        Maximum number of steps per record, so that an idle machine does not work without need.
    aim : float, default=0.5
        The fraction of a record's time after which its answer should be ready; the rest is a reserve for what cannot be
        planned, such as other work on the machine.
    headroom : float or None, default=None
        Also look ahead: at the present rate of arrivals, spend at most this fraction of the machine. Waiting stays
        short then, at the cost of a little accuracy. With None all available time is used.

    Notes
    -----
    The record at position j (from 0) is on time if (j + 1) · (r + n · s) ≤ e · (l_j - c), with c, r and s the cost of a
    call, a record and a step (the first step of a record may count as several), l_j the time left to the aimed instant
    (but at least a quarter of the time to the deadline), and e the fraction of the time that is left after calls and a
    safety margin, which is smaller after answers that came close to their deadlines. n is the smallest number of
    steps that any position allows. A single waiting record gets at most a quarter of that, because others may come;
    and the queue may not fill by more than half at the present rate of arrivals. n is the average number of steps:
    answers that stop early, because no step could change them, leave time for the others, which may take more
    (`EarlyStops`). All this is computed for every batch; of a queue of more than 2,048 records, for every k-th.

    A batch takes at most a quarter of the time that its first record has left. It takes up to half of it where more
    records arrive than shorter batches, each with the cost of a call, can answer, or while records are given up.

    Records that cannot be on time any more, or only at the cost of more others (`count_late`), take no time that could
    save others: they are classified at budget 0 when no other record waits, or in an eighth of the time while all
    others are expected to be answered at their aim. If they fill half of the queue and there is no such time, or if the
    queue is full, they are not reached: their answers are the prior probabilities. The defaults of `aim`
    and `headroom` were chosen in simulations, by ``benchmarks.runtime.share_settings``.
    """

    def __init__(self, *, max_steps: int | None = None, aim: float = 0.5, headroom: float | None = None) -> None:
        if headroom is not None and not 0.0 < headroom <= 1.0:
            raise ValueError(f"headroom is {headroom}; use a fraction of the machine above 0 and up to 1, or None")
        if not 0.0 < aim <= 1.0:
            raise ValueError(f"aim is {aim}; use a fraction of a record's time above 0 and up to 1")
        self.max_steps = check_max_steps(max_steps)
        self.aim = aim
        self.headroom = headroom
        self._late_credit_s = 0.0  # time that late records may take
        self._used = _MAX_USED  # fraction of the time that is planned
        self._stops = EarlyStops()

    def plan(self, context: SchedulerContext) -> BatchPlan:
        """Return the most urgent records that can be on time, with an equal share each."""
        cost, now = context.cost, context.now
        late = count_late(context, _SAMPLE)
        n_late = late.count
        sample = context.queue.sample(n_late, _SAMPLE)
        records_before = sample.positions - n_late
        left_s = self._time_left(sample.deadlines, sample.arrivals, now)
        if n_late and (planned := self._plan_late(context, late, late.slack_s(left_s, records_before))) is not None:
            return planned

        share = self._share(context, left_s, records_before)
        limit = math.inf if self.max_steps is None else self.max_steps
        max_steps = limit if share >= limit else min(self._stops.max_steps_for(share), limit)
        expected_steps = min(share, self._stops.mean_steps(max_steps))
        if expected_steps == math.inf:
            expected_steps = _UNLIMITED
        first_left_s = float(sample.deadlines[0]) - now
        longest_s = min(context.batch_s, _MAX_SLICE * first_left_s)
        usual_s = max(_SLICE * first_left_s, context.keep_up_s())
        wanted_s = max(longest_s if n_late else min(usual_s, longest_s), _MIN_BATCH_S)
        n = self._batch_size(context, wanted_s, expected_steps, len(context.queue) - n_late)
        expected_s = cost.estimate_s(n, expected_steps)
        self._late_credit_s += _LATE_SHARE * expected_s if n_late else 0.0
        max_s = min(
            max(first_left_s - cost.call_s, 0.0), max(_MARGIN * max(expected_s, wanted_s), _SLICE * first_left_s)
        )
        return BatchPlan(slice(n_late, n_late + n), limit_steps(max_steps, None), now + max_s, expected_s)

    def observe(self, batch: Records, answer: Answer, now: float) -> None:
        """Plan less of the time after answers that came close to their deadlines, and gradually more otherwise."""
        self._stops.observe(answer)
        used = float(((now - batch.arrival) / (batch.deadline - batch.arrival)).max())
        if used > _TOO_CLOSE:
            self._used = max(0.7 * self._used, _MIN_USED)
        else:
            self._used = min(self._used + 0.01, _MAX_USED)

    def _plan_late(self, context: SchedulerContext, late: LateRecords, slack_s: float) -> BatchPlan | None:
        """Return a batch of late records if it delays no other record, or if they fill the queue; else None."""
        n = min(late.count, context.records_for(0))
        expected_s = context.cost.estimate_s(n, 0)
        is_crowded = late.count > context.queue.capacity // 2
        is_full = is_crowded and context.queue.free_slots == 0  # the source may hold others, whose time runs
        in_their_share = slack_s == math.inf or self._late_credit_s >= expected_s
        if in_their_share and expected_s <= slack_s and not is_full:
            self._late_credit_s = max(self._late_credit_s - expected_s, 0.0)
            return BatchPlan(n, 0, context.now + _MARGIN * max(context.batch_s, expected_s), expected_s)
        if is_crowded:  # they need their slots, and others the time: the prior probabilities, at once
            return BatchPlan(min(late.count, context.max_records), 0, context.now)
        return None

    def _time_left(
        self, deadlines: NDArray[np.float64], arrivals: NDArray[np.float64], now: float
    ) -> NDArray[np.float64]:
        """Return the seconds to the aimed instants of records, at least a fraction of those to their deadlines."""
        left_s = deadlines - now
        if self.aim == 1.0:
            return left_s
        reserve_s = (1.0 - self.aim) * (deadlines - arrivals)
        finite = np.isfinite(reserve_s)
        if not finite.all():
            reserve_s[~finite] = 0.0  # no reserve without a deadline
        return np.asarray(np.maximum(left_s - reserve_s, _SLICE * left_s))

    def _share(
        self, context: SchedulerContext, left_s: NDArray[np.float64], records_before: NDArray[np.float64]
    ) -> float:
        """Return n of the notes: the average number of steps that every record can have."""
        cost = context.cost
        if context.arrivals_per_s > 0.0:  # at this rate a longer wait would fill the queue too far
            left_s = np.minimum(left_s, _MAX_FILL * context.queue.capacity / context.arrivals_per_s)
        used = self._used * (1.0 - cost.call_s / max(context.batch_s, 2.0 * cost.call_s))
        each_s = used * float(np.min((left_s - cost.call_s) / (records_before + 1.0)))
        each_s = min(each_s, max(context.batch_s, _SLICE * float(left_s[0])))
        if self.headroom is not None and context.arrivals_per_s > 0.0:
            each_s = min(each_s, self.headroom / context.arrivals_per_s)
        if each_s == math.inf:
            return math.inf
        return max(cost.steps_within(each_s), 0.0)

    def _batch_size(self, context: SchedulerContext, wanted_s: float, expected_steps: float, n_on_time: int) -> int:
        cost = context.cost
        seconds = max(wanted_s - cost.call_s, cost.call_s)
        n = int(min(seconds / cost.each_s(expected_steps), context.max_records, n_on_time))
        return max(n, 1)
