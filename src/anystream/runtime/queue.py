"""The bounded queue: earliest deadline first, and a named policy for what does not fit."""

from __future__ import annotations

from collections import deque
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.items import Items

Overflow = Literal["block", "answer_now", "shed_oldest", "shed_newest"]
OVERFLOW_POLICIES: tuple[str, ...] = get_args(Overflow)
_MOST_PARTS = 64  # more are joined, so that walking over them stays quick and what they were cut from can go


class ItemQueue:
    """Elements that wait for their answer, in the order of their deadlines; equal ones in the order of arrival.

    Parameters
    ----------
    capacity : int, default=10_000
        Most elements that wait.
    overflow : {"block", "answer_now", "shed_oldest", "shed_newest"}, default="block"
        What happens when there are more. ``"block"``: they stay in the source until there is room (back-pressure;
        nothing is ever lost). ``"answer_now"``: those that do not fit are answered at budget 0, at once.
        ``"shed_oldest"`` and ``"shed_newest"``: the longest-waiting, or the last to come, are given up; the engine
        counts them and sends them to the dead letters.
    """

    def __init__(self, capacity: int = 10_000, overflow: Overflow = "block") -> None:
        if capacity < 1:
            raise ValueError(f"capacity is {capacity}; a queue holds at least one element")
        if overflow not in OVERFLOW_POLICIES:
            raise ValueError(f"overflow is {overflow!r}; use one of {', '.join(OVERFLOW_POLICIES)}")
        self.capacity = capacity
        self.overflow: Overflow = overflow
        self._parts: deque[Items] = deque()  # each sorted, and no deadline before those of the part in front of it
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def room(self) -> int:
        """How many more elements fit."""
        return self.capacity - self._length

    def push(self, items: Items) -> Items:
        """Let elements wait; answer those that did not fit, which the policy chose."""
        self._insert(items)
        surplus = self._length - self.capacity
        if surplus <= 0:
            return items.take(slice(0, 0))
        if self.overflow == "shed_oldest":
            return self.take(np.argsort(self._column("sequence"), kind="stable")[:surplus])
        return self.take(np.argsort(self._column("sequence"), kind="stable")[-surplus:])

    def deadlines(self) -> NDArray[np.float64]:
        """The deadlines of all elements, ascending."""
        return self._column("deadline")

    def arrivals(self) -> NDArray[np.float64]:
        """The arrivals of all elements, in the order of the queue."""
        return self._column("arrival")

    def offsets(self) -> NDArray[np.int64]:
        """The offsets of all elements, in the order of the queue."""
        return self._column("offset")

    def items(self) -> Items:
        """All elements, which stay where they are."""
        return self._whole()

    def take(self, rows: int | slice | NDArray[np.int64]) -> Items:
        """Remove elements and answer them: so many from the front, those of a slice, or any by their places."""
        if isinstance(rows, np.ndarray):
            whole = self._whole()
            stay = np.ones(len(whole), dtype=np.bool_)
            stay[rows] = False
            self._parts = deque([whole.take(stay)])
            self._length -= len(rows)
            return whole.take(rows)
        first, last, _ = (rows if isinstance(rows, slice) else slice(rows)).indices(self._length)
        before = self._pop(first)
        taken = self._pop(last - first)
        self._parts.extendleft(reversed(before))
        self._length -= sum(map(len, taken))
        return Items.joined(taken) if taken else Items.none()

    def _pop(self, wanted: int) -> list[Items]:
        """The parts with the first `wanted` elements; the last of them is cut if need be."""
        popped = []
        while wanted > 0:
            part = self._parts.popleft()
            if len(part) > wanted:
                self._parts.appendleft(part.take(slice(wanted, None)))
                part = part.take(slice(wanted))
            popped.append(part)
            wanted -= len(part)
        return popped

    def _insert(self, items: Items) -> None:
        if len(items) == 0:
            return
        self._length += len(items)
        if np.any(items.deadline[1:] < items.deadline[:-1]):
            items = items.take(np.argsort(items.deadline, kind="stable"))
        while self._parts and len(self._parts[-1]) == 0:
            self._parts.pop()
        if self._parts and items.deadline[0] < self._parts[-1].deadline[-1]:
            whole = Items.joined([*self._parts, items])
            order = np.lexsort((whole.sequence, whole.deadline))
            self._parts = deque([whole.take(order)])
        else:
            self._parts.append(items)
            if len(self._parts) > _MOST_PARTS:
                self._whole()

    def _whole(self) -> Items:
        if len(self._parts) > 1:
            self._parts = deque([Items.joined(list(self._parts))])
        return self._parts[0] if self._parts else Items.none()

    def _column(self, name: str) -> NDArray[Any]:
        columns: list[NDArray[Any]] = [getattr(part, name) for part in self._parts]
        if len(columns) == 1:
            return columns[0]
        return np.concatenate(columns) if columns else np.empty(0, dtype=np.int64)
