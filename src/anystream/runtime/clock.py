"""Clocks: real time, and simulated time for tests and simulations."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A clock in seconds that never runs backwards."""

    def now(self) -> float:
        """Return the present instant."""

    def sleep(self, seconds: float) -> None:
        """Let time pass."""


class RealClock:
    """The clock of `time.monotonic`, on which `Budget(until=…)` is measured, too."""

    def now(self) -> float:
        """Return the present instant."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        if seconds > 0.0:
            time.sleep(seconds)


class SimulatedClock:
    """A clock that moves only in `sleep`, which returns at once.

    Parameters
    ----------
    start : float, default=0.0
        The first instant, in seconds.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def now(self) -> float:
        """Return the present instant."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        if not seconds >= 0.0:
            raise ValueError(f"a clock cannot move by {seconds} seconds; give 0 or more")
        self._now += seconds
