"""What a batch costs in seconds, learned from the batches before it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

import numpy as np

_PRIOR = (50e-6, 5e-6, 1e-6)  # seconds per call, record and step: a guess that the first batches correct
_LEAST = (20e-6, 0.2e-6, 20e-9)  # what is measured as less counts as this
_DRIFT = 0.05  # how much a cost may change from one batch to the next, relative to itself
_HELD_UP = 0.03  # part of a batch's time that may be a delay which every call has since, however small, and
_SUSPECT = 0.6  # this much of what was not foreseen of late
_SURPRISE_RATE = 0.2  # weight of the last batch in what is "of late"
_NOISE = 0.2  # relative error of one measurement
_OUTLIER = 3.0  # a measurement further off than this many deviations counts as that far off
_HISTORY_S = 0.3  # seconds of work after which the average over history has forgotten the most part
_WIDEST = 3.0  # uncertainty of a cost never grows beyond this, relative to itself
_THREE = range(3)


def fit_costs(measurements: Sequence[tuple[int, int, float]]) -> tuple[float, float, float]:
    """Seconds per call, record and step that explain batches of (records, steps, seconds) best, in relative error."""
    from scipy.optimize import nnls

    uses = np.array([[1.0, records, steps] for records, steps, _ in measurements])
    seconds = np.array([seconds for _, _, seconds in measurements])
    costs, _ = nnls(uses / seconds[:, np.newaxis], np.ones(len(seconds)))
    return float(costs[0]), float(costs[1]), float(costs[2])


class StepCost:
    """The cost model t = call + record · n + step · S of a batch of n records that takes S steps in all.

    Each batch corrects the three costs, so they follow the machine: other work beside it, a model that grows, more
    threads. (A Kalman filter over a random walk, in plain numbers: three are too few for arrays.) Errors are relative,
    so that long batches do not drown short ones. When batches take longer than they should, the call is suspected
    first: to lay a delay that every call has to the records would make the next batch smaller, and the share of each
    record in the delay larger, without end.

    Parameters
    ----------
    call, record, step : float
        First guesses, in seconds.

    Attributes
    ----------
    call, record, step : float
        What is believed now: seconds per batch, however small; per record at budget 0; per step of one record.
    average : float
        Seconds per step of late, all that was measured counted in: t' of the LOCUST paper, which counts samples and
        nothing else.
    """

    def __init__(self, call: float = _PRIOR[0], record: float = _PRIOR[1], step: float = _PRIOR[2]) -> None:
        self.call, self.record, self.step = call, record, step
        if not min(call, record, step) > 0.0:
            raise ValueError(f"costs are {[call, record, step]}; give positive numbers of seconds")
        self._floor = [min(cost, least) * 1e-3 for cost, least in zip((call, record, step), _LEAST, strict=True)]
        self._uncertainty = [[call**2, 0.0, 0.0], [0.0, record**2, 0.0], [0.0, 0.0, step**2]]
        self._surprise = 0.0  # part of the time of late that was not foreseen
        self._seconds = 0.0
        self._steps = 0.0
        self.measured = 0

    @classmethod
    def fitted(cls, measurements: Sequence[tuple[int, int, float]]) -> StepCost:
        """Costs that begin where batches of (records, steps, seconds) say."""
        found = fit_costs(measurements)
        return cls(*(max(cost, least) for cost, least in zip(found, _LEAST, strict=True)))

    @property
    def average(self) -> float:
        """Seconds per step in the history of the stream, set-up included; t' of Eq. 8."""
        return self._seconds / self._steps if self._steps else self.step

    def of(self, records: float, steps_each: float) -> float:
        """Seconds that a batch will take."""
        return self.call + records * (self.record + steps_each * self.step)

    def update(self, records: int, steps: int, seconds: float, *, calls: int = 1) -> None:
        """A batch of `records` records took `steps` steps in all, and `seconds`; `calls` of them, if it was several."""
        if records < 1 or not seconds > 0.0:
            return
        self.measured += 1
        kept = math.exp(-seconds / _HISTORY_S)
        self._seconds = kept * self._seconds + seconds
        self._steps = kept * self._steps + steps
        costs, spread = (self.call, self.record, self.step), self._uncertainty
        usual = min(seconds, _OUTLIER * self.of(records, steps / records))
        shrink = []
        for i, (cost, least) in enumerate(zip(costs, _LEAST, strict=True)):
            scale = max(cost, least)
            spread[i][i] += (_DRIFT * scale) ** 2
            if i == 0:
                spread[0][0] += ((_HELD_UP + _SUSPECT * max(self._surprise, 0.0)) * usual) ** 2
                scale = max(scale, usual)
            shrink.append(min(1.0, _WIDEST * scale / math.sqrt(spread[i][i])))
        for i in _THREE:
            for j in _THREE:
                spread[i][j] *= shrink[i] * shrink[j]

        use = (calls / seconds, records / seconds, steps / seconds)  # the prediction is use · costs, the measurement 1
        gain = [sum(map(mul, row, use)) for row in spread]
        variance = sum(map(mul, use, gain)) + _NOISE**2
        most = _OUTLIER * math.sqrt(variance)
        error = 1.0 - sum(map(mul, use, costs))
        self._surprise += _SURPRISE_RATE * (min(max(error, -1.0), 1.0) - self._surprise)
        weight = min(max(error, -most), most) / variance
        self.call, self.record, self.step = (
            max(cost + weight * change, floor) for cost, change, floor in zip(costs, gain, self._floor, strict=True)
        )
        for i in _THREE:
            for j in _THREE:
                spread[i][j] -= gain[i] * gain[j] / variance
