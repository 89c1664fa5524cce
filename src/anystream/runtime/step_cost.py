"""Cost of a batch in seconds, estimated from the batches before it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

import numpy as np

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


def fit_costs(measurements: Sequence[tuple[int, int, float]]) -> tuple[float, float, float]:
    """Return the seconds per call, record and step that explain batches of (records, steps, seconds) best.

    The fit minimises relative errors, under costs of 0 or more.
    """
    from scipy.optimize import nnls

    uses = np.array([[1.0, records, steps] for records, steps, _ in measurements])
    seconds = np.array([seconds for _, _, seconds in measurements])
    costs, _ = nnls(uses / seconds[:, np.newaxis], np.ones(len(seconds)))
    return float(costs[0]), float(costs[1]), float(costs[2])


class StepCost:
    """The cost model t = call + record · n + step · S of a batch of n records that takes S steps in all.

    Each batch corrects the three costs, so they follow the machine: other work on it, a model that grows, more
    threads. (A Kalman filter over a random walk, in plain numbers: three are too few for arrays.) Errors are relative,
    so that long batches do not dominate short ones. When batches take longer than expected, the excess is attributed to
    the call first. Attributing a delay that every call has to the records would make the next batch smaller, and the
    share of each record in the delay larger, without end.

    Parameters
    ----------
    call_s, record_s, step_s : float
        First guesses, in seconds.

    Attributes
    ----------
    call_s, record_s, step_s : float
        Present estimates: seconds per batch of any size; per record at budget 0; per step of one record.
    average_step_s : float
        Seconds per step over the last third of a second of work, with all measured time counted as time of steps: t' of
        the LOCUST paper.
    """

    def __init__(self, call_s: float = _PRIOR_S[0], record_s: float = _PRIOR_S[1], step_s: float = _PRIOR_S[2]) -> None:
        self.call_s, self.record_s, self.step_s = call_s, record_s, step_s
        if not min(call_s, record_s, step_s) > 0.0:
            raise ValueError(f"costs are {[call_s, record_s, step_s]}; use positive numbers of seconds")
        costs = (call_s, record_s, step_s)
        self._floor = [min(cost, smallest) * 1e-3 for cost, smallest in zip(costs, _MIN_S, strict=True)]
        self._uncertainty = [[call_s**2, 0.0, 0.0], [0.0, record_s**2, 0.0], [0.0, 0.0, step_s**2]]
        self._surprise = 0.0  # average fraction of the last batches' time that was not expected
        self._seconds = 0.0
        self._steps = 0.0

    @classmethod
    def fit(cls, measurements: Sequence[tuple[int, int, float]]) -> StepCost:
        """Return costs that start from measured batches of (records, steps, seconds)."""
        found = fit_costs(measurements)
        return cls(*(max(cost, smallest) for cost, smallest in zip(found, _MIN_S, strict=True)))

    @property
    def average_step_s(self) -> float:
        """Seconds per step in the history of the stream, set-up included; t' of Eq. 8."""
        return self._seconds / self._steps if self._steps else self.step_s

    def estimate_s(self, records: float, steps_each: float) -> float:
        """Return the expected seconds of a batch."""
        return self.call_s + records * (self.record_s + steps_each * self.step_s)

    def update(self, records: int, steps: int, seconds: float, *, calls: int = 1) -> None:
        """Correct the costs by a measurement: `calls` calls with `records` records and `steps` steps in all."""
        if records < 1 or not seconds > 0.0:
            return
        kept = math.exp(-seconds / _HISTORY_S)
        self._seconds = kept * self._seconds + seconds
        self._steps = kept * self._steps + steps
        self._widen_uncertainty(min(seconds, _OUTLIER * self.estimate_s(records, steps / records)))

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
