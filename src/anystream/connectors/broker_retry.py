"""Calls to a broker that may be away: repeated with back-off, reported once."""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_FIRST_DELAY_S = 0.05
_MAX_DELAY_S = 2.0


class BrokerAwayError(ConnectionError):
    """A broker could not be reached for longer than `give_up_after_s`."""


def print_report(text: str) -> None:
    """Print what happened to a broker on standard error."""
    print(f"anystream: {text}", file=sys.stderr, flush=True)


class Retry:
    """Repeats calls to a broker that is away.

    Parameters
    ----------
    name : str
        Name of the broker in messages.
    errors : tuple of exception types
        What tells that the broker is away; anything else is raised at once.
    refusals : tuple of exception types
        What tells that the broker refuses the credentials, which no repetition changes: ValueError.
    give_up_after_s : float, optional
        Seconds without the broker after which `BrokerAwayError` is raised; None for never.
    report : callable
        Called with a text when the broker goes away, and when it is back.

    Attributes
    ----------
    reached_at : float
        When the broker was reached again after it had been away, on the clock of `time.monotonic`.
    """

    def __init__(
        self,
        name: str,
        errors: tuple[type[BaseException], ...],
        *,
        refusals: tuple[type[BaseException], ...] = (),
        give_up_after_s: float | None = None,
        report: Callable[[str], None] = print_report,
    ) -> None:
        self._name = name
        self._errors = errors
        self._refusals = refusals
        self._give_up_after_s = give_up_after_s
        self._report = report
        self.reached_at = -math.inf
        self._away_since: float | None = None
        self._next_try = 0.0
        self._delay_s = _FIRST_DELAY_S

    @property
    def away(self) -> bool:
        """Whether the last call failed."""
        return self._away_since is not None

    def attempt(self, call: Callable[[], T]) -> T | None:
        """Return the result of a call; None if the broker is away, or was away too short a time ago."""
        if self.away and time.monotonic() < self._next_try:
            return None
        try:
            result = call()
        except self._errors as error:
            self._fail(error)
            return None
        self._succeed()
        return result

    def call(self, call: Callable[[], T]) -> T:
        """Return the result of a call; while the broker is away, wait and repeat it."""
        while True:
            try:
                result = call()
            except self._errors as error:
                self._fail(error)
                time.sleep(max(self._next_try - time.monotonic(), 0.0))
                continue
            self._succeed()
            return result

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, self._refusals):
            raise ValueError(
                f"{self._name} refuses the connection ({_first_line(error)}); check user, password and certificates"
            ) from error
        now = time.monotonic()
        if self._away_since is None:
            self._away_since, self._delay_s = now, _FIRST_DELAY_S
            self._report(f"{self._name} cannot be reached ({_first_line(error)}); trying again")
        away_s = now - self._away_since
        if self._give_up_after_s is not None and away_s >= self._give_up_after_s:
            raise BrokerAwayError(
                f"{self._name} could not be reached for {away_s:.1f} s ({_first_line(error)}); start again when it "
                "can: what was not acknowledged comes again"
            ) from error
        self._next_try = now + self._delay_s * random.uniform(0.8, 1.2)  # consumers should not come back all at once
        self._delay_s = min(2 * self._delay_s, _MAX_DELAY_S)

    def _succeed(self) -> None:
        if self._away_since is not None:
            self.reached_at = time.monotonic()
            away_s = self.reached_at - self._away_since
            self._away_since = None
            self._report(f"{self._name} is reached again after {away_s:.1f} s")


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).partition("\n")[0]
