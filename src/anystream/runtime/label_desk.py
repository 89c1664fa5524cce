"""Where a label that comes late meets its record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.items import Items


class LabelDesk:
    """Answered records that wait for their label, and labels that wait for their record; both by key.

    Parameters
    ----------
    capacity : int, default=10_000
        Most records, and most labels, that are kept. The oldest is forgotten first, and counted.

    Notes
    -----
    Keys are compared as text: the number 17 of a JSON line and the cell 17 of a CSV file are the same key.

    Attributes
    ----------
    forgotten : int
        Records whose label had not come before they were forgotten.
    orphaned : int
        Labels whose record had not come, or was forgotten, before they were forgotten themselves.
    """

    def __init__(self, capacity: int = 10_000) -> None:
        if capacity < 1:
            raise ValueError(f"capacity is {capacity}; keep at least one record")
        self.capacity = capacity
        self.forgotten = 0
        self.orphaned = 0
        self._records: dict[Any, NDArray[np.float64]] = {}  # in order of arrival, as dicts are
        self._labels: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self._records)

    def records(self, items: Items) -> list[tuple[NDArray[np.float64], Any]]:
        """Records were answered; answer those that have a label, with it."""
        met = []
        for key, x, label in zip(map(str, items.key.tolist()), items.features, items.label, strict=True):
            if label is None and self._labels:
                label = self._labels.pop(key, None)
            if label is None:
                self._records[key] = x.copy()  # the batch it came in can go
            else:
                met.append((x, label))
        while len(self._records) > self.capacity:
            del self._records[next(iter(self._records))]
            self.forgotten += 1
        return met

    def labels(self, pairs: Iterable[tuple[Any, Any]]) -> list[tuple[NDArray[np.float64], Any]]:
        """Labels have come; answer those whose record waits, with it."""
        met = []
        for key, label in pairs:
            x = self._records.pop(str(key), None)
            if x is None:
                self._labels[str(key)] = label
            else:
                met.append((x, label))
        while len(self._labels) > self.capacity:
            del self._labels[next(iter(self._labels))]
            self.orphaned += 1
        return met

    def state(self) -> tuple[list[Any], list[NDArray[np.float64]], dict[Any, Any]]:
        """Keys and features of the records, and the labels, that wait."""
        return list(self._records), list(self._records.values()), dict(self._labels)

    def restore(self, keys: list[Any], rows: Iterable[NDArray[np.float64]], labels: dict[Any, Any]) -> None:
        """Go on from a `state`."""
        self._records = dict(zip(keys, rows, strict=True))
        self._labels = dict(labels)
