"""Window: the newest records of a leaf."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.drift.columns import stack_records

_MIN_CAPACITY = 16


class Window:
    """Labelled records in the order of their arrival, of which the oldest can be dropped.

    Columns that a record lacks are NaN. Records lie in one array; dropping moves `start`, adding moves `end`::

        | dropped | start ... records ... end | free slots |

    Parameters
    ----------
    records : array of shape (n_records, n_features)
        The records.
    labels : array of shape (n_records,)
        Their class numbers.
    times : array of shape (n_records,)
        How many records the tree had learned before each of them.
    """

    __slots__ = ("end", "labels", "records", "start", "times")

    def __init__(self, records: NDArray[np.float64], labels: NDArray[np.int32], times: NDArray[np.int64]) -> None:
        self.records, self.labels, self.times = records, labels, times
        self.start, self.end = 0, len(labels)

    @classmethod
    def empty(cls, n_features: int) -> Window:
        """Return a window without records."""
        return cls(np.zeros((0, n_features)), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64))

    @classmethod
    def merge(cls, windows: Iterable[Window]) -> Window:
        """Return a window of all records of several windows, in the order of their arrival."""
        records, labels, times = zip(*(window.view() for window in windows), strict=True)
        all_times = np.concatenate(times)
        order = np.argsort(all_times, kind="stable")
        return cls(stack_records(records)[order], np.concatenate(labels)[order], all_times[order])

    def __len__(self) -> int:
        return self.end - self.start

    def __reduce__(self) -> tuple[Any, ...]:
        return Window, self.view()  # without dropped records and free slots

    def view(self) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]:
        """Return records, labels and times of the window."""
        part = slice(self.start, self.end)
        return self.records[part], self.labels[part], self.times[part]

    def share(self) -> Window:
        """Return a window with the same records in the same memory; only one of the two may add records afterwards."""
        twin = Window(self.records, self.labels, self.times)
        twin.start, twin.end = self.start, self.end
        return twin

    def add(self, record: NDArray[np.float64], label: int, time: int) -> None:
        """Append one record."""
        if self.end == len(self.labels) or len(record) > self.records.shape[1]:
            self._reallocate(len(record))
        self.records[self.end], self.labels[self.end], self.times[self.end] = record, label, time
        self.end += 1

    def keep_newest(self, n: int) -> None:
        """Drop all but the newest `n` records."""
        self.start = max(self.start, self.end - n)

    def _reallocate(self, n_features: int) -> None:
        records, labels, times = self.view()
        n, capacity = len(labels), max(_MIN_CAPACITY, 2 * len(labels))
        self.records = np.full((capacity, max(n_features, records.shape[1])), np.nan)
        self.labels, self.times = np.zeros(capacity, dtype=np.int32), np.zeros(capacity, dtype=np.int64)
        self.records[:n, : records.shape[1]], self.labels[:n], self.times[:n] = records, labels, times
        self.start, self.end = 0, n
