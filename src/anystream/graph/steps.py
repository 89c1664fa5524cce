"""Work in steps, which other work can come between."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")
Steps = Generator[int, None, Result]
"""Work in steps of at most a millisecond or so each, which yields the weight of each step: 2 for long ones."""


def take_all(steps: Steps[Result]) -> Result:
    """Return the result of work in steps."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
