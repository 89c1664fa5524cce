"""Matching of late labels with their records, by key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.contracts import LateLabel
from anystream.runtime.keyed_queue import KeyedQueue
from anystream.runtime.packed_records import pack_records, plain_key, to_plain, unpack_records
from anystream.runtime.records import Records


class MatchResult(NamedTuple):
    """What a call of the matcher did.

    Parameters
    ----------
    labelled : Records
        Records that now have their label.
    evicted : int
        Records (of `match_records`) or labels (of `match_labels`) that were dropped unmatched.
    """

    labelled: Records
    evicted: int


class _WaitingRecord(NamedTuple):
    key: Any
    features: NDArray[np.float64]
    offset: int
    line: int


class _WaitingLabel(NamedTuple):
    label: Any
    number: int  # of the labels so far
    n_records: int  # number of records that were classified before it came
    duplicate: bool  # whether its key had another label before


class LabelMatcher:
    """Classified records that wait for their label, and labels that wait for their record.

    Parameters
    ----------
    capacity : int, default=10_000
        Maximum number of records, and maximum number of labels, that wait. The oldest are evicted first.

    Attributes
    ----------
    duplicated : int
        Labels whose key had a label before, and that found no record of their own: they still wait, or were evicted.
        Of the keys that were matched, the last `capacity` are remembered.
    last_label : int
        Number of the label that came last, from 1.

    Notes
    -----
    Records with equal keys are matched with the labels of that key in order: the first with the first. Keys are
    compared as text: the number 17 of a JSON line and the cell 17 of a CSV file are the same key. A record without a
    key cannot be matched, and counts as evicted.
    """

    def __init__(self, capacity: int = 10_000) -> None:
        if capacity < 1:
            raise ValueError(f"capacity is {capacity}; use 1 or more records")
        self.capacity = capacity
        self.duplicated = 0
        self._records: KeyedQueue[_WaitingRecord] = KeyedQueue()
        self._labels: KeyedQueue[_WaitingLabel] = KeyedQueue()
        self._matched_keys: dict[str, None] = {}  # the last ones, oldest first
        self._n_records = 0  # records so far
        self.last_label = 0  # number of the last label that came
        self._last_matched = 0  # highest number of a label that was matched

    @property
    def pending_records(self) -> int:
        """Number of records that wait for their label."""
        return len(self._records)

    @property
    def pending_labels(self) -> int:
        """Number of labels that wait for their record."""
        return len(self._labels)

    @property
    def free_record_slots(self) -> int:
        """How many more records can wait."""
        return self.capacity - len(self._records)

    @property
    def free_label_slots(self) -> int:
        """How many more labels can wait."""
        return self.capacity - len(self._labels)

    def match_records(self, records: Records) -> MatchResult:
        """Match classified records with the waiting labels; records without a label wait."""
        rows, labels, evicted = [], [], 0
        self._n_records += len(records)
        columns = zip(records.key.tolist(), records.label, records.offset.tolist(), records.line.tolist(), strict=True)
        for row, (key, label, offset, line) in enumerate(columns):
            if label is None and key is not None and len(self._labels):
                label = self._pop_label(str(key))
            if label is not None:
                rows.append(row)
                labels.append(label)
            elif key is None:
                evicted += 1
            else:  # a copy of the features, so that the batch can be freed
                self._records.add(str(key), _WaitingRecord(key, records.features[row].copy(), offset, line))
        labelled = records.take(np.array(rows, dtype=np.intp)).with_labels(labels)
        return MatchResult(labelled, evicted + _evict_oldest(self._records, self.capacity))

    def match_labels(self, labels: Sequence[LateLabel]) -> MatchResult:
        """Match labels with the waiting records; labels without a record wait."""
        found: list[_WaitingRecord] = []
        found_labels: list[Any] = []
        for late in labels:
            self.last_label += 1
            key = str(late.key)
            record = self._records.pop(key)
            if record is not None:
                found.append(record)
                found_labels.append(late.label)
                self._remember(key, self.last_label)
            else:
                duplicate = key in self._labels or key in self._matched_keys
                self.duplicated += duplicate
                self._labels.add(key, _WaitingLabel(late.label, self.last_label, self._n_records, duplicate))
        labelled = _to_records(found, found_labels) if found else Records.empty()
        return MatchResult(labelled, _evict_oldest(self._labels, self.capacity))

    def evict_labels(self, last: int) -> int:
        """Evict the waiting labels up to number `last`, see `last_label`; return how many there were."""
        n_before = len(self._labels)
        while len(self._labels) and self._labels.oldest().number <= last:
            self._labels.pop_oldest()
        return n_before - len(self._labels)

    def evict_passed_labels(self) -> int:
        """Evict labels that later ones have overtaken, `capacity` records ago or more; return how many there were."""
        n_before = len(self._labels)
        while len(self._labels):
            oldest = self._labels.oldest()
            if oldest.number > self._last_matched or self._n_records - oldest.n_records < self.capacity:
                break
            self._labels.pop_oldest()
        return n_before - len(self._labels)

    def state(self) -> dict[str, Any]:
        """Return the waiting records and labels, for a checkpoint."""
        return self.capture()()

    def capture(self) -> Callable[[], dict[str, Any]]:
        """Return a function that makes the `state` of this instant: that takes long, and another thread may call it."""
        records, labels, matched_keys = list(self._records), list(self._labels), list(self._matched_keys)
        counts = [self._n_records, self.last_label, self._last_matched, self.duplicated]

        def make_state() -> dict[str, Any]:
            return _pack_waiting([record for _, record in records]) | {
                "label_keys": [key for key, _ in labels],
                "label_values": [to_plain(label.label) for _, label in labels],
                "label_places": [[label.number, label.n_records, label.duplicate] for _, label in labels],
                "matched_keys": matched_keys,
                "counts": counts,
            }

        return make_state

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a `state`."""
        self._records, self._labels = KeyedQueue(), KeyedQueue()
        self.match_records(unpack_records(state))
        for key, label, place in zip(state["label_keys"], state["label_values"], state["label_places"], strict=True):
            self._labels.add(key, _WaitingLabel(label, *place))
        self._matched_keys = dict.fromkeys(state["matched_keys"])
        self._n_records, self.last_label, self._last_matched, self.duplicated = state["counts"]

    def _pop_label(self, key: str) -> Any:
        """Remove and return the oldest label of a key; None if there is none."""
        waiting = self._labels.pop(key)
        if waiting is None:
            return None
        self.duplicated -= waiting.duplicate
        self._remember(key, waiting.number)
        return waiting.label

    def _remember(self, key: str, number: int) -> None:
        """Note that a label was matched: its key, and its number."""
        self._last_matched = max(self._last_matched, number)
        self._matched_keys[key] = None
        if len(self._matched_keys) > self.capacity:
            del self._matched_keys[next(iter(self._matched_keys))]


def _pack_waiting(waiting: list[_WaitingRecord]) -> dict[str, Any]:
    """Return waiting records in the form of `pack_records`, but with rows of features, which are quickly listed."""
    packed = pack_records(Records.empty())
    if waiting:
        packed |= {
            "features": [record.features for record in waiting],
            "offsets": [record.offset for record in waiting],
            "lines": [record.line for record in waiting],
            "keys": [plain_key(record.key) for record in waiting],
            "labels": [None] * len(waiting),
        }
    return packed


def _to_records(waiting: list[_WaitingRecord], labels: list[Any]) -> Records:
    keys, features, offsets, lines = zip(*waiting, strict=True)
    return Records.from_features(np.array(features), key=keys, offset=offsets, line=lines, label=labels)


def _evict_oldest(waiting: KeyedQueue[Any], capacity: int) -> int:
    surplus = max(len(waiting) - capacity, 0)
    for _ in range(surplus):
        waiting.pop_oldest()
    return surplus
