"""Cost of a batch in seconds, estimated from the batches before it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

import numpy as np

from anystream.runtime.nonnegative_fit import fit_nonnegative

_PRIOR_S = (50e-6, 5e-6, 1e-6)  # seconds per call, record and step: a guess that the first batches correct
_MIN_S = (20e-6, 0.2e-6, 20e-9)  # smaller measurements count as this
_DRIFT = 0.05  # how much a cost may change from one batch to the next, relative to itself
_CALL_DELAY = 0.03  # fraction of a batch's time that may be a new delay of every call, even without any surprise, plus
_SURPRISE_WEIGHT = 0.6  # this much of the surprise
_SURPRISE_RATE = 0.2  # weight of the last batch in the average that is the surprise
_NOISE = 0.2  # relative error of one measurement
_OUTLIER = 3.0  # a measurement further off than this many deviations counts as that far off
_HISTORY_S = 0.3  # seconds of work after which the weight in the average over history falls to 1/e
_MAX_UNCERTAINTY = 3.0  # maximum uncertainty of a cost, relative to itself
_COSTS = range(3)


class Measurement(NamedTuple):
    """One batch: its records, the steps of all of them, how many took a step, and the seconds that it took."""

    records: int
    steps: int
    stepped: int
    seconds: float


class Costs(NamedTuple):
    """Seconds per call, record and step, and how many steps the first one of a record costs as much as."""

    call_s: float
    record_s: float
    step_s: float
    first_step: float = 1.0


def fit_costs(measurements: Sequence[Measurement], min_step_s: float = 0.0) -> Costs:
    """Return the costs that explain measured batches best, a step counting as `min_step_s` or more.

    The fit minimises relative errors, under costs of 0 or more. A first step counts as one step if it costs less than
    twice as much, or if the batches do not tell it apart.
    """
    uses = np.array([[1.0, each.records, each.steps, each.stepped] for each in measurements])
    seconds = np.array([each.seconds for each in measurements])
    relative = uses / seconds[:, np.newaxis]
    call_s, record_s, step_s, further_s = fit_nonnegative(relative, np.ones(len(seconds)))
    step_s = max(step_s, min_step_s)
    if np.linalg.matrix_rank(uses) == uses.shape[1] and 0.0 < step_s <= further_s:
        return Costs(float(call_s), float(record_s), float(step_s), float(1.0 + further_s / step_s))
    call_s, record_s, step_s = fit_nonnegative(relative[:, :3], np.ones(len(seconds)))
    return Costs(float(call_s), float(record_s), max(float(step_s), min_step_s))


def steps_of_work(work: float, first_step: float) -> float:
    """Return how many steps of a record are as much work as `work` steps, of which the first counts `first_step` times.

    Below 1 it is the share of the records that can have their first step.
    """
    return work / first_step if work < first_step else work - (first_step - 1.0)


class StepCost:
    """The cost model t = call + record · n + step · S of a batch of n records that takes S steps in all.

    The first step of a record counts in S as often as it is costlier than another: a Bayes tree with a first look maps
    the record and evaluates its root model there. That ratio belongs to the model, not to the load of the machine, and
    is measured once.

    Each batch corrects the three costs, so they follow the machine: other work on it, a model that grows, more
    threads. (A Kalman filter over a random walk, in plain numbers: three are too few for arrays.) Errors are relative,
    so that long batches do not dominate short ones. When batches take longer than expected, the excess is attributed to
    the call first. Attributing a delay that every call has to the records would make the next batch smaller, and the
    share of each record in the delay larger, without end.

    Parameters
    ----------
    call_s, record_s, step_s : float
        First guesses, in seconds.
    first_step : float, default=1
        How many steps the first one of a record costs as much as.

    Attributes
    ----------
    call_s, record_s, step_s : float
        Present estimates: seconds per batch of any size; per record at budget 0; per step of one record.
    average_step_s : float
        Seconds per step over the last third of a second of work, with all measured time counted as time of steps: t' of
        the LOCUST paper.
    """

    def __init__(
        self,
        call_s: float = _PRIOR_S[0],
        record_s: float = _PRIOR_S[1],
        step_s: float = _PRIOR_S[2],
        *,
        first_step: float = 1.0,
    ) -> None:
        self.call_s, self.record_s, self.step_s = call_s, record_s, step_s
        if not 1.0 <= first_step < math.inf:
            raise ValueError(f"first_step is {first_step}; use a number of steps of 1 or more")
        self.first_step = first_step
        if not min(call_s, record_s, step_s) > 0.0:
            raise ValueError(f"costs are {[call_s, record_s, step_s]}; use positive numbers of seconds")
        costs = (call_s, record_s, step_s)
        self._floor = [min(cost, smallest) * 1e-3 for cost, smallest in zip(costs, _MIN_S, strict=True)]
        self._uncertainty = [[call_s**2, 0.0, 0.0], [0.0, record_s**2, 0.0], [0.0, 0.0, step_s**2]]
        self._surprise = 0.0  # average fraction of the last batches' time that was not expected
        self._seconds = 0.0
        self._steps = 0.0

    @classmethod
    def fit(cls, measurements: Sequence[Measurement]) -> StepCost:
        """Return costs that start from measured batches."""
        *found, first_step = fit_costs(measurements, _MIN_S[2])
        return cls(*(max(cost, smallest) for cost, smallest in zip(found, _MIN_S, strict=True)), first_step=first_step)

    @property
    def average_step_s(self) -> float:
        """Seconds per step in the history of the stream, set-up included; t' of Eq. 8."""
        return self._seconds / self._steps if self._steps else self.step_s

    def each_s(self, steps: float) -> float:
        """Return the expected seconds of one record in a batch, if records take `steps` steps on average."""
        return self.record_s + (steps + min(steps, 1.0) * (self.first_step - 1.0)) * self.step_s

    def steps_within(self, seconds: float) -> float:
        """Return how many steps one record of a batch can have in so many seconds.

        Below 1 it is the share of the records that can have their first step; negative if there is no time for any.
        """
        return steps_of_work((seconds - self.record_s) / self.step_s, self.first_step)

    def estimate_s(self, records: float, steps_each: float) -> float:
        """Return the expected seconds of a batch."""
        return self.call_s + records * self.each_s(steps_each)

    def update(self, records: int, steps: float, seconds: float, *, calls: int = 1, stepped: int = 0) -> None:
        """Correct the costs by a measurement: `calls` calls with `records` records and `steps` steps in all.

        `stepped` of the records took a step.
        """
        if records < 1 or not seconds > 0.0:
            return
        kept = math.exp(-seconds / _HISTORY_S)
        self._seconds = kept * self._seconds + seconds
        self._steps = kept * self._steps + steps
        steps += stepped * (self.first_step - 1.0)
        expected_s = self.call_s + records * (self.record_s + steps / records * self.step_s)
        self._widen_uncertainty(min(seconds, _OUTLIER * expected_s))

        costs, spread = (self.call_s, self.record_s, self.step_s), self._uncertainty
        use = (calls / seconds, records / seconds, steps / seconds)  # the prediction is use · costs, the measurement 1
        gain = [sum(map(mul, row, use)) for row in spread]
        variance = sum(map(mul, use, gain)) + _NOISE**2
        max_error = _OUTLIER * math.sqrt(variance)
        error = 1.0 - sum(map(mul, use, costs))
        self._surprise += _SURPRISE_RATE * (min(max(error, -1.0), 1.0) - self._surprise)
        weight = min(max(error, -max_error), max_error) / variance
        self.call_s, self.record_s, self.step_s = (
            max(cost + weight * change, floor) for cost, change, floor in zip(costs, gain, self._floor, strict=True)
        )
        for i in _COSTS:
            for j in _COSTS:
                spread[i][j] -= gain[i] * gain[j] / variance

    def _widen_uncertainty(self, usual_s: float) -> None:
        """Add what the costs may have changed since the last batch, up to a maximum; `usual_s` is the batch's time."""
        spread, shrink = self._uncertainty, []
        for i, (cost, smallest) in enumerate(zip((self.call_s, self.record_s, self.step_s), _MIN_S, strict=True)):
            scale = max(cost, smallest)
            spread[i][i] += (_DRIFT * scale) ** 2
            if i == 0:
                spread[0][0] += ((_CALL_DELAY + _SURPRISE_WEIGHT * max(self._surprise, 0.0)) * usual_s) ** 2
                scale = max(scale, usual_s)
            shrink.append(min(1.0, _MAX_UNCERTAINTY * scale / math.sqrt(spread[i][i])))
        for i in _COSTS:
            for j in _COSTS:
                spread[i][j] *= shrink[i] * shrink[j]
