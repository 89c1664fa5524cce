"""The time: as it passes, or as a test or a simulation says."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Seconds that never run backwards."""

    def now(self) -> float:
        """The present instant."""

    def sleep(self, seconds: float) -> None:
        """Let time pass."""


class RealClock:
    """The clock of `time.monotonic`, which is also that of `Budget(until=…)`."""

    def now(self) -> float:
        """The present instant."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        if seconds > 0.0:
            time.sleep(seconds)


class SimulatedClock:
    """A clock that moves only when it is told to.

    Parameters
    ----------
    start : float, default=0.0
        The first instant.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def now(self) -> float:
        """The present instant."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Move on at once."""
        if not seconds >= 0.0:
            raise ValueError(f"a clock cannot move by {seconds} seconds; give 0 or more")
        self._now += seconds
