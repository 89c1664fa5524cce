"""What this machine can do: measured before the demonstration chooses its loads."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.demo.loads import BURST_FACTOR, BURST_SHARE, LOADS
from anystream.runtime.engine import Engine
from anystream.runtime.schedulers import FixedBudget
from anystream.runtime.simulation import NullSink, RepeatingSource

_BATCH = 64
_LIMIT_RECORDS = 20_000  # records of one measurement of the limit
_BURST_SHARE_OF_LIMIT = 0.4  # a burst may reach this fraction of the limit: another process may take a core of two


@dataclass(frozen=True, slots=True)
class Capacity:
    """Records per second of a model on this machine.

    Parameters
    ----------
    full : float
        At the full number of steps, in calls of the model: load 1.
    limit : float
        At budget 0, through an engine with its queue and its accounts: more cannot be answered.
    """

    full: float
    limit: float

    @classmethod
    def measure(cls, model: Any, X: NDArray[np.float64], y: NDArray[Any], seconds: float = 1.0) -> Self:
        """Measure both, for `seconds` each."""
        return cls(measure_full(model, X, seconds), _measure_limit(model, X, y, seconds))

    @property
    def limit_factor(self) -> float:
        """The limit as a load."""
        return self.limit / self.full

    def loads(self) -> list[float]:
        """Return the loads of the demonstration that this machine can bear, bursts included.

        If it cannot bear the highest, the last one is the highest that it can, in two digits.
        """
        burst = BURST_FACTOR / (1.0 + BURST_SHARE * (BURST_FACTOR - 1.0))  # over the mean rate
        top = _BURST_SHARE_OF_LIMIT * self.limit_factor / burst
        if top >= LOADS[-1]:
            return list(LOADS)
        digits = max(1 - math.floor(math.log10(top)), 0)
        top = math.floor(top * 10**digits) / 10**digits
        return [*(load for load in LOADS if load < 0.8 * top), top]


def measure_full(model: Any, X: NDArray[np.float64], seconds: float = 1.0) -> float:
    """Return the records per second that the model classifies at its full budget, in batches of 64."""
    batch = X[:_BATCH]
    model.classify(batch)  # starts threads and fills caches
    started, n_classified = time.perf_counter(), 0
    while (elapsed_s := time.perf_counter() - started) < seconds:
        n_classified += len(model.classify(batch))
    return n_classified / elapsed_s


def _measure_limit(model: Any, X: NDArray[np.float64], y: NDArray[Any], seconds: float) -> float:
    """Return the records per second of an engine that has all records at hand and takes no steps."""
    started, n_answered = time.perf_counter(), 0
    while (elapsed_s := time.perf_counter() - started) < seconds:
        source = RepeatingSource(X, y, _LIMIT_RECORDS)
        n_answered += Engine(model, source, NullSink(), scheduler=FixedBudget(0)).run().answered
    return n_answered / elapsed_s
