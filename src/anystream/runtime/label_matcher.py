"""Matching of late labels with their records, by key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.labelled import LabelledRecord, to_plain
from anystream.runtime.records import Records


class MatchResult(NamedTuple):
    """What a call of the matcher did.

    Parameters
    ----------
    labelled : list of (features, label)
        Records that now have their label.
    evicted : int
        Records (of `match_records`) or labels (of `match_labels`) that were dropped unmatched.
    """

    labelled: list[LabelledRecord]
    evicted: int


class LabelMatcher:
    """Classified records that wait for their label, and labels that wait for their record.

    Parameters
    ----------
    capacity : int, default=10_000
        Maximum number of records, and maximum number of labels, that wait. The oldest are evicted first. A record or
        label whose key is waiting already replaces the older one, which counts as evicted.

    Notes
    -----
    Keys are compared as text: the number 17 of a JSON line and the cell 17 of a CSV file are the same key.
    """

    def __init__(self, capacity: int = 10_000) -> None:
        if capacity < 1:
            raise ValueError(f"capacity is {capacity}; use 1 or more records")
        self.capacity = capacity
        self._records: dict[str, NDArray[np.float64]] = {}  # oldest first, because dicts keep the order of insertion
        self._labels: dict[str, Any] = {}

    @property
    def pending_records(self) -> int:
        """Number of records that wait for their label."""
        return len(self._records)

    @property
    def pending_labels(self) -> int:
        """Number of labels that wait for their record."""
        return len(self._labels)

    def match_records(self, records: Records) -> MatchResult:
        """Match classified records with the waiting labels; records without a label wait."""
        labelled, replaced = [], 0
        for key, x, label in zip(map(str, records.key.tolist()), records.features, records.label, strict=True):
            if label is None and self._labels:
                label = self._labels.pop(key, None)
            if label is None:
                replaced += self._records.pop(key, None) is not None
                self._records[key] = x.copy()  # a copy, so that the batch can be freed
            else:
                labelled.append((x, label))
        return MatchResult(labelled, replaced + self._evict_oldest(self._records))

    def match_labels(self, pairs: Iterable[tuple[Any, Any]]) -> MatchResult:
        """Match pairs (key, label) with the waiting records; labels without a record wait."""
        labelled, replaced = [], 0
        for key, label in pairs:
            x = self._records.pop(str(key), None)
            if x is None:
                replaced += self._labels.pop(str(key), None) is not None
                self._labels[str(key)] = label
            else:
                labelled.append((x, label))
        return MatchResult(labelled, replaced + self._evict_oldest(self._labels))

    def state(self) -> dict[str, Any]:
        """Return the waiting records and labels, for a checkpoint."""
        return {
            "keys": list(self._records),
            "features": list(self._records.values()),
            "labels": [[key, to_plain(label)] for key, label in self._labels.items()],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a `state`."""
        self._records = dict(zip(state["keys"], state["features"], strict=True))
        self._labels = dict(state["labels"])

    def _evict_oldest(self, waiting: dict[str, Any]) -> int:
        surplus = max(len(waiting) - self.capacity, 0)
        for _ in range(surplus):
            del waiting[next(iter(waiting))]
        return surplus
