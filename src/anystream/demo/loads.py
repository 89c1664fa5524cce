"""A bursty stream in real time at several loads, through the engine, with two ways to spend the time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.clock import Clock, RealClock
from anystream.runtime.engine import Engine, Turn
from anystream.runtime.queue import ItemQueue, Overflow
from anystream.runtime.replay import Replay, at_times
from anystream.runtime.schedulers import DeadlineShare, FixedBudget, Scheduler
from anystream.runtime.simulation import EndlessRows, Nowhere
from anystream.runtime.summary import Summary
from anystream.runtime.workloads import arrivals

LOADS = (0.5, 1.0, 2.0, 5.0, 10.0)
STEPS = 200
DEADLINE_S = 0.1
SLOT_S, BURST_SHARE, BURST_FACTOR = 0.05, 0.2, 4.0
"""The rate changes every `SLOT_S` seconds; a fifth of the slots are bursts, with four times the rate of the others."""
_IN_TIME = 0.5  # part of the deadline: what the full budget can do in it is all that may wait for the full budget

Watch = Callable[[str, float, Turn], None]
"""Called with the way, the load and each turn of the engine."""


@dataclass(frozen=True, slots=True)
class Load:
    """The same stream, answered both ways.

    Parameters
    ----------
    factor : float
        Arrivals over what the machine can do at the full number of steps.
    arrivals : int
        How many records came.
    anytime, fixed : Summary
        What became of them.
    """

    factor: float
    arrivals: int
    anytime: Summary
    fixed: Summary

    def share(self, count: int) -> float:
        """A count as part of all arrivals."""
        return count / max(self.arrivals, 1)


def bursty_arrivals(rate: float, seconds: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Random arrivals, at `rate` a second on average and in bursts."""
    slots = max(1, round(seconds / SLOT_S))
    weight = np.where(rng.random(slots) < BURST_SHARE, BURST_FACTOR, 1.0)
    return arrivals(rate * weight / weight.mean(), seconds / slots, seed=int(rng.integers(2**31)))


def run_load(
    model: Any,
    X: NDArray[np.float64],
    y: NDArray[Any],
    factor: float,
    *,
    capacity: float,
    times: NDArray[np.float64],
    watch: Watch,
    clock: Callable[[], Clock] = RealClock,
) -> Load:
    """One stream, answered twice: with a share of the time for everyone, and with the same steps for everyone.

    Each has the queue that suits it. The first holds what comes in a deadline. The second holds no more than it can
    answer in time, or all would be late; what does not fit is given up, the longest-waiting first.
    """
    fixed_size = max(16, round(_IN_TIME * capacity * DEADLINE_S))
    anytime_size = max(16, round(2 * LOADS[-1] * capacity * DEADLINE_S))

    def run(way: str, scheduler: Scheduler, size: int, overflow: Overflow) -> Summary:
        time = clock()
        return Engine(
            model,
            Replay(EndlessRows(X, y, len(times)), at_times(times), time),
            Nowhere(),
            scheduler=scheduler,
            within=DEADLINE_S,
            queue=ItemQueue(size, overflow),
            clock=time,
            observer=lambda turn: watch(way, factor, turn),
        ).run()

    return Load(
        factor,
        len(times),
        run("anytime", DeadlineShare(most=STEPS), anytime_size, "answer_now"),
        run("fixed", FixedBudget(STEPS), fixed_size, "shed_oldest"),
    )
