"""Budget: limits on the work of a call."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from datetime import timedelta
from numbers import Integral, Real
from typing import TypeAlias

from anystream._native import StopToken

BudgetLike: TypeAlias = "Budget | int | timedelta | None"


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on the work of a call: steps, time, an instant or a stop token, whichever ends it first.

    Parameters
    ----------
    steps : int, optional
        Maximum steps per record. A step is the classifier's unit of work: one node read, one exemplar compared.
    seconds : float or timedelta, optional
        Maximum duration of the whole call, from its start. The records of a batch share it evenly.
    until : float, optional
        The instant at which the whole call must end, on the clock of `time.monotonic`.
    stop : StopToken, optional
        Ends the work when another thread calls ``stop.set()``.

    Notes
    -----
    Without any limit the work continues until no step is left. With a limit of zero every record still gets a label:
    that of the smallest set-up.

    Examples
    --------
    >>> Budget(steps=20)
    Budget(steps=20)
    >>> Budget.of(timedelta(milliseconds=2))
    Budget(seconds=0.002)
    >>> Budget(steps=-1)
    Traceback (most recent call last):
    ...
    ValueError: steps is -1; use 0 or more, or leave it out for no limit
    """

    steps: int | None = None
    seconds: float | None = None
    until: float | None = None
    stop: StopToken | None = None

    def __post_init__(self) -> None:
        if self.steps is not None:
            object.__setattr__(self, "steps", _check_count("steps", self.steps))
        if isinstance(self.seconds, timedelta):
            object.__setattr__(self, "seconds", self.seconds.total_seconds())
        if self.seconds is not None:
            object.__setattr__(self, "seconds", _check_duration("seconds", self.seconds))
        if self.until is not None:
            object.__setattr__(self, "until", _check_instant("until", self.until))
        if self.stop is not None and not isinstance(self.stop, StopToken):
            raise TypeError(f"stop is {self.stop!r}; use an anystream.StopToken, which native code can read")

    @classmethod
    def of(cls, budget: BudgetLike) -> Budget:
        """Return a Budget from a caller's value: an int is steps, a timedelta a duration, None no limit."""
        if isinstance(budget, Budget):
            return budget
        if type(budget) is int:  # quicker than the checks below
            return cls(steps=budget)
        if budget is None:
            return cls()
        if isinstance(budget, timedelta):
            return cls(seconds=budget.total_seconds())
        if isinstance(budget, Integral) and not isinstance(budget, bool):
            return cls(steps=int(budget))
        raise TypeError(
            f"budget is {budget!r}; use a whole number of steps, a timedelta, "
            "or Budget(steps=…, seconds=…, until=…, stop=…)"
        )

    @property
    def timed(self) -> bool:
        """Whether the clock or another thread can end the work, so that the number of steps can vary."""
        return self.seconds is not None or self.until is not None or self.stop is not None

    def start(self) -> Budget:
        """Return the same budget with the clock started: `seconds` become an instant `until`."""
        if self.seconds is None:
            return self
        until = time.monotonic() + self.seconds
        return Budget(self.steps, None, until if self.until is None else min(until, self.until), self.stop)

    def is_over(self) -> bool:
        """Return whether the instant `until` has passed or the stop token is set; call `start` before."""
        return self.ends_within(0.0)

    def ends_within(self, seconds: float) -> bool:
        """Return whether the instant `until` passes within so many seconds or the stop token is set."""
        late = self.until is not None and time.monotonic() + seconds >= self.until
        return late or (self.stop is not None and self.stop.is_set())

    def share(self, part: float) -> Budget:
        """Return the budget of a part of the work: all the steps, and this share of the time left until `until`."""
        if self.until is None:
            return self
        now = time.monotonic()
        return Budget(steps=self.steps, until=now + max(0.0, self.until - now) * part, stop=self.stop)

    def end_early(self, seconds: float) -> Budget:
        """Return the budget with an instant `until` that is earlier, by at most a tenth of the time left."""
        if self.until is None:
            return self
        left = self.until - time.monotonic()
        return Budget(self.steps, None, self.until - max(0.0, min(seconds, left / 10)), self.stop)

    def limits(self) -> tuple[int, int, StopToken | None]:
        """Return steps, nanoseconds from now, and the token as native calls take them; -1 means no limit."""
        steps = -1 if self.steps is None else self.steps
        seconds = math.inf if self.seconds is None else self.seconds
        if self.until is not None:
            seconds = min(seconds, max(0.0, self.until - time.monotonic()))
        return steps, -1 if seconds > _MAX_S else int(seconds * 1e9), self.stop

    def __repr__(self) -> str:
        given = ((name, getattr(self, name)) for name in ("steps", "seconds", "until", "stop"))
        return f"Budget({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"


_MAX_S = 1e9  # 30 years; a longer time counts as no limit


def _check_count(name: str, value: object) -> int:
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, Integral)):
        raise TypeError(f"{name} is {value!r}; use a whole number")
    if value < 0:
        raise ValueError(f"{name} is {value}; use 0 or more, or leave it out for no limit")
    return min(int(value), 2**62)


def _check_instant(name: str, value: object) -> float:
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, Real)):
        raise TypeError(f"{name} is {value!r}; use a number of seconds")
    if math.isnan(value):
        raise ValueError(f"{name} is NaN; use a number of seconds")
    return float(value)


def _check_duration(name: str, value: object) -> float:
    seconds = _check_instant(name, value)
    if seconds < 0:
        raise ValueError(f"{name} is {seconds}; use 0 or more, or leave it out for no limit")
    return seconds
