"""One way to take a time, and to say how much of it was somebody else's."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


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


class Stolen:
    """How much of a machine's time its host gave to other machines; nothing is known where there is no /proc/stat."""

    def __init__(self) -> None:
        self._before = self._ticks()

    def share(self) -> float:
        """The part since the last question."""
        (stolen, all_), (stolen_before, all_before) = self._ticks(), self._before
        self._before = stolen, all_
        return (stolen - stolen_before) / max(all_ - all_before, 1)

    @staticmethod
    def _ticks() -> tuple[int, int]:
        try:
            numbers = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        except (OSError, ValueError):
            return 0, 0
        return numbers[-1], sum(numbers)
