"""Records that were classified and whose labels may come later, by key."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.keyed_queue import KeyedQueue

_CAPACITY = 10_000


class SeenRecord(NamedTuple):
    """Features of a record and the label of its answer."""

    features: NDArray[np.float64]
    label: Any


class SeenRecords:
    """The last records that had a key; the oldest are evicted. Records of equal keys are matched in order.

    Parameters
    ----------
    capacity : int, default=10_000
        Maximum number of records.
    """

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._capacity = capacity
        self._records: KeyedQueue[SeenRecord] = KeyedQueue()

    def add(self, keys: list[Any], features: NDArray[np.float64], labels: list[Any]) -> None:
        """Remember answered records; those without a key are left out."""
        for key, row, label in zip(keys, features, labels, strict=True):
            if key is not None:
                self._records.add(str(key), SeenRecord(row.copy(), label))
        while len(self._records) > self._capacity:
            self._records.pop_oldest()

    def pop(self, key: Any) -> SeenRecord | None:
        """Remove and return the oldest record of a key; None if there is none."""
        return self._records.pop(str(key))
