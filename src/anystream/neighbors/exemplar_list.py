"""Immutable list of exemplars for Python metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True, eq=False)
class ExemplarList:
    """Exemplars in the order of comparison, one of each class first. Changes return a new list.

    Parameters
    ----------
    records : list
        The exemplars.
    labels : list of int
        Class numbers.
    serials : list of int
        Number of each record, counted over all learning.
    setup : int
        Number of exemplars in front, one of each class.
    """

    records: list[Any]
    labels: list[int]
    serials: list[int]
    setup: int

    @classmethod
    def arrange(cls, records: Sequence[Any], labels: Sequence[int], serials: Sequence[int]) -> Self:
        """Return a list in the given order, except that the first exemplar of each class moves to the front."""
        seen: set[int] = set()
        front: list[int] = []
        rest: list[int] = []
        for i, label in enumerate(labels):
            (rest if label in seen else front).append(i)
            seen.add(label)
        order = front + rest
        return cls([records[i] for i in order], [labels[i] for i in order], [serials[i] for i in order], len(front))

    def append(self, record: Any, label: int) -> Self:
        """Return the list with one more exemplar."""
        serial = max(self.serials, default=-1) + 1
        return self.arrange([*self.records, record], [*self.labels, label], [*self.serials, serial])

    def evict_oldest(self) -> Self:
        """Return the list without the exemplar of the lowest serial."""
        oldest = self.serials.index(min(self.serials))
        kept = [i for i in range(len(self)) if i != oldest]
        return self.arrange(
            [self.records[i] for i in kept], [self.labels[i] for i in kept], [self.serials[i] for i in kept]
        )

    def __len__(self) -> int:
        return len(self.records)
