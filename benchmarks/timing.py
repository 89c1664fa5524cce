"""One way to take a time: the least of several runs, on a named clock."""

from __future__ import annotations

import time
from collections.abc import Callable


def least_seconds(
    work: Callable[[], object], repeats: int = 7, clock: Callable[[], float] = time.process_time
) -> float:
    """Seconds that `work` takes; by default those of the processor, in all threads."""
    best = float("inf")
    for _ in range(repeats):
        started = clock()
        work()
        best = min(best, clock() - started)
    return best
