"""Time measurement for benchmarks, and the share of processor time that the host of a virtual machine took."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any


def min_seconds(work: Callable[[], object], repeats: int = 7, clock: Callable[[], float] = time.process_time) -> float:
    """Return the minimum time of `work` in seconds; by default processor time of all threads."""
    shortest = float("inf")
    for _ in range(repeats):
        started = clock()
        work()
        shortest = min(shortest, clock() - started)
    return shortest


def race(
    works: Mapping[str, tuple[Callable[[Any], object], Any]], repeats: int = 7, singles: int = 50
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the processor seconds of each work on its records together, and of one of them alone.

    A work is a function and the records that it takes. Each has a turn in every round; the minimum of the rounds counts.
    """
    batch_s, single_s = dict.fromkeys(works, float("inf")), dict.fromkeys(works, float("inf"))
    for _ in range(repeats):
        for name, (work, records) in works.items():
            rows = [records[i : i + 1] for i in range(singles)]
            batch_s[name] = min(batch_s[name], min_seconds(partial(work, records), 1))
            took_s = min_seconds(lambda work=work, rows=rows: [work(row) for row in rows], 1)
            single_s[name] = min(single_s[name], took_s / singles)
    return batch_s, single_s


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
