"""Time measurement for benchmarks, and the share of processor time that the host of a virtual machine took."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def min_seconds(work: Callable[[], object], repeats: int = 7, clock: Callable[[], float] = time.process_time) -> float:
    """Return the minimum time of `work` in seconds; by default processor time of all threads."""
    shortest = float("inf")
    for _ in range(repeats):
        started = clock()
        work()
        shortest = min(shortest, clock() - started)
    return shortest


class StolenTime:
    """Share of a machine's processor time that its host gave to other machines; 0 if there is no /proc/stat."""

    def __init__(self) -> None:
        self._before = self._ticks()

    def share(self) -> float:
        """Return the share since the last call, or since the object was created."""
        (stolen, total), (stolen_before, total_before) = self._ticks(), self._before
        self._before = stolen, total
        return (stolen - stolen_before) / max(total - total_before, 1)

    @staticmethod
    def _ticks() -> tuple[int, int]:
        """Return stolen and total processor time in clock ticks."""
        try:
            numbers = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        except (OSError, ValueError):
            return 0, 0
        return numbers[-1], sum(numbers)
