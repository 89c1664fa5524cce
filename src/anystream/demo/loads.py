"""A bursty stream in real time at several loads, with an anytime scheduler and with a fixed budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.clock import Clock, RealClock
from anystream.runtime.engine import Engine, Turn
from anystream.runtime.queue import OverflowPolicy, RecordQueue
from anystream.runtime.replay import Replay, at_times
from anystream.runtime.schedulers import DeadlineShare, FixedBudget, Scheduler
from anystream.runtime.simulation import NullSink, RepeatingSource
from anystream.runtime.summary import Summary
from anystream.runtime.workloads import draw_arrivals

LOADS = (0.5, 1.0, 2.0, 5.0, 10.0)
STEPS = 200
DEADLINE_S = 0.1
SLOT_S, BURST_SHARE, BURST_FACTOR = 0.05, 0.2, 4.0
"""The rate changes every `SLOT_S` seconds; a fifth of the slots are bursts, with four times the rate of the others."""
_FIXED_QUEUE_SHARE = 0.5  # share of the deadline: the queue of the fixed budget holds what can be classified in it

Observer = Callable[[str, float, Turn], None]
"""Called with the policy ("anytime" or "fixed"), the load and each turn of the engine."""


@dataclass(frozen=True, slots=True)
class Load:
    """The same stream under both policies.

    Parameters
    ----------
    factor : float
        Arrivals per second over the capacity, which is what the machine can classify at the full number of steps.
    n_records : int
        Number of records that arrived.
    anytime, fixed : Summary
        Account of the stream under each policy.
    """

    factor: float
    n_records: int
    anytime: Summary
    fixed: Summary

    def share(self, count: int) -> float:
        """Return a count as a share of all records."""
        return count / max(self.n_records, 1)


def draw_bursty_arrivals(rate_per_s: float, seconds: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return random arrival times in bursts, with `rate_per_s` records per second on average."""
    slots = max(1, round(seconds / SLOT_S))
    weight = np.where(rng.random(slots) < BURST_SHARE, BURST_FACTOR, 1.0)
    return draw_arrivals(rate_per_s * weight / weight.mean(), seconds / slots, seed=int(rng.integers(2**31)))


def run_load(
    model: Any,
    X: NDArray[np.float64],
    y: NDArray[Any],
    factor: float,
    *,
    capacity: float,
    arrival_times_s: NDArray[np.float64],
    observer: Observer,
    clock_class: Callable[[], Clock] = RealClock,
) -> Load:
    """Run one stream twice: with an equal share of the time for every record, and with a fixed number of steps.

    Each policy has the queue that suits it. The anytime queue holds what arrives within a deadline. The queue of the
    fixed budget holds only what can be classified in time, otherwise every answer would be late; a full queue evicts
    the oldest records.
    """
    anytime_capacity = max(16, round(2 * LOADS[-1] * capacity * DEADLINE_S))
    fixed_capacity = max(16, round(_FIXED_QUEUE_SHARE * capacity * DEADLINE_S))

    def run(policy: str, scheduler: Scheduler, queue_capacity: int, overflow: OverflowPolicy) -> Summary:
        clock = clock_class()
        return Engine(
            model,
            Replay(RepeatingSource(X, y, len(arrival_times_s)), at_times(arrival_times_s), clock),
            NullSink(),
            scheduler=scheduler,
            within_s=DEADLINE_S,
            queue=RecordQueue(queue_capacity, overflow),
            clock=clock,
            observer=lambda turn: observer(policy, factor, turn),
        ).run()

    return Load(
        factor,
        len(arrival_times_s),
        run("anytime", DeadlineShare(max_steps=STEPS), anytime_capacity, "answer_now"),
        run("fixed", FixedBudget(STEPS), fixed_capacity, "shed_oldest"),
    )
