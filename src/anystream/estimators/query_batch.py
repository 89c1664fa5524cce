"""Batches of queries that run in Python."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, Protocol

from anystream.anytime.budget import Budget


class Refinable(Protocol):
    """Query that counts its steps."""

    @property
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def exhausted(self) -> bool:
        """Whether no step is left."""

    def refine(self, steps: int) -> Any:
        """Take at most this many steps."""


def refine_batch(queries: Sequence[Refinable], budget: Budget) -> None:
    """Refine queries within a budget. Under a deadline or a stop token all of them advance one step per round."""
    max_steps = math.inf if budget.steps is None else budget.steps
    if not budget.timed:
        for query in queries:
            query.refine(2**62 if budget.steps is None else budget.steps)
        return
    until = math.inf if budget.until is None else budget.until
    if budget.seconds is not None:
        until = min(until, time.monotonic() + budget.seconds)
    active = [query for query in queries if not query.exhausted and query.steps < max_steps]
    while active:
        for query in active:
            if time.monotonic() >= until or (budget.stop is not None and budget.stop.is_set()):
                return
            query.refine(1)
        active = [query for query in active if not query.exhausted and query.steps < max_steps]
