"""A clock of processor time, for measurements on machines with other work on them."""

from __future__ import annotations

import time
from typing import Any

from anystream.anytime.budget import Budget
from anystream.runtime import Clock

_LENIENCE = 50.0  # factor of a time limit on real time, where processor time is what counts


class ProcessorClock:
    """Processor time of this process; a sleep adds its time at once."""

    def __init__(self) -> None:
        self._slept_s = -time.process_time()

    def now(self) -> float:
        """Return the present instant."""
        return time.process_time() + self._slept_s

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._slept_s += max(seconds, 0.0)


class OnClock:
    """A model whose deadlines are on another clock than that of native code, which reads real time.

    On a busy machine real time advances much faster, so time limits are extended; the steps of a batch still bound it.

    Parameters
    ----------
    model : anytime classifier
        The model; everything but `classify` is passed on to it.
    clock : Clock
        The clock of the deadlines.
    """

    def __init__(self, model: Any, clock: Clock) -> None:
        self._model, self._clock = model, clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def classify(self, X: Any, *, budget: Budget) -> Any:
        """Classify records until the deadline or the number of steps."""
        seconds = None if budget.until is None else _LENIENCE * max(budget.until - self._clock.now(), 0.0)
        return self._model.classify(X, budget=Budget(steps=budget.steps, seconds=seconds, stop=budget.stop))
