"""Requests that wait for their answers, in the order of their deadlines."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from math import inf
from typing import NamedTuple


class _Entry(NamedTuple):
    deadline: float
    number: float  # of the request
    n_records: int


class Backlog:
    """Number of records that wait, and that the engine will classify before a new one.

    Only the thread of the event loop uses it.

    Examples
    --------
    >>> backlog = Backlog()
    >>> backlog.add(1, 10, deadline=5.0)
    >>> backlog.add(2, 3, deadline=7.0)
    >>> backlog.records, backlog.records_before(6.0, now=1.0), backlog.records_before(9.0, now=6.0)
    (13, 10, 3)
    """

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self.records = 0

    def add(self, number: int, n_records: int, *, deadline: float) -> None:
        """Add the request of this number."""
        insort(self._entries, _Entry(deadline, number, n_records))
        self.records += n_records

    def remove(self, number: int, *, deadline: float) -> None:
        """Remove the request of this number, if it is there."""
        at = bisect_left(self._entries, (deadline, number))
        if at < len(self._entries) and self._entries[at].number == number:
            self.records -= self._entries.pop(at).n_records

    def records_before(self, deadline: float, *, now: float) -> int:
        """Return how many records are due by `deadline` and not late yet; late ones do not delay the others."""
        first = bisect_left(self._entries, (now,))
        last = bisect_right(self._entries, (deadline, inf))
        if self.records == len(self._entries):  # the usual case: one record each
            return max(last - first, 0)
        return sum(entry.n_records for entry in self._entries[first:last])
