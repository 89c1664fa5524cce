"""The parts of a tree that forgets locally: windows of records, leaves, splits."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anystream.drift.base import stacked

FIRST_ROOM = 16


class Window:
    """Records in the order of their arrival, the oldest of which can be dropped.

    A column that a record lacks is NaN. Rows lie in one array; dropping moves `start`, adding moves `end`:

        | dropped | start ... records ... end | room |
    """

    __slots__ = ("end", "labels", "rows", "start", "times")

    def __init__(self, rows: NDArray[np.float64], labels: NDArray[np.int32], times: NDArray[np.int64]) -> None:
        self.rows, self.labels, self.times = rows, labels, times
        self.start, self.end = 0, len(labels)

    @classmethod
    def empty(cls, n_features: int) -> Window:
        """A window without records."""
        return cls(np.zeros((0, n_features)), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return self.end - self.start

    def view(self) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]:
        """Rows, labels and times of the records that are there."""
        part = slice(self.start, self.end)
        return self.rows[part], self.labels[part], self.times[part]

    def add(self, row: NDArray[np.float64], label: int, time: int) -> None:
        """Put one record behind the others."""
        if self.end == len(self.labels) or len(row) > self.rows.shape[1]:
            self._make_room(len(row))
        self.rows[self.end], self.labels[self.end], self.times[self.end] = row, label, time
        self.end += 1

    def keep_newest(self, n: int) -> None:
        """Drop all but the newest `n`."""
        self.start = max(self.start, self.end - n)

    def _make_room(self, width: int) -> None:
        rows, labels, times = self.view()
        n, room = len(labels), max(FIRST_ROOM, 2 * len(labels))
        self.rows = np.full((room, max(width, rows.shape[1])), np.nan)
        self.labels, self.times = np.zeros(room, dtype=np.int32), np.zeros(room, dtype=np.int64)
        self.rows[:n, : rows.shape[1]], self.labels[:n], self.times[:n] = rows, labels, times
        self.start, self.end = 0, n


@dataclass(slots=True, eq=False)
class Leaf:
    """Where records end, with a window of them and a measure of how well they were foretold."""

    window: Window
    inherited: list[int]  # class counts that speak while the window is empty
    counts: list[int] = field(default_factory=list)  # of the window
    hit_rate: float = 0.0  # of the last few answers
    best_hit_rate: float = 0.0
    n_declined: int = 0  # records in a row for which the hit rate was clearly below its best
    n_untested: int = 0  # records since the last look for a split

    @classmethod
    def of(cls, window: Window, inherited: list[int]) -> Leaf:
        """A leaf that begins with the records of a window."""
        leaf = cls(window, inherited)
        leaf.recount()
        n = len(window)
        leaf.hit_rate = leaf.best_hit_rate = max(leaf.counts, default=0) / n if n else 0.0
        return leaf

    def recount(self) -> None:
        """Count the classes of the window."""
        self.counts = np.bincount(self.window.view()[1]).tolist()

    @property
    def spoken_counts(self) -> list[int]:
        """The class counts by which the leaf answers."""
        return self.counts if len(self.window) else self.inherited

    @property
    def label(self) -> int:
        """The most frequent class, the first of equals."""
        counts = self.spoken_counts
        return counts.index(max(counts)) if counts else 0

    def is_pure(self) -> bool:
        """Whether all records of the window are of one class."""
        return max(self.counts, default=0) == len(self.window)


@dataclass(slots=True, eq=False)
class Split:
    """A test of one feature: at most the threshold goes left; more, or a missing value, goes right."""

    feature: int
    threshold: float
    left: Leaf | Split
    right: Leaf | Split
    hit_rate: float
    newest: deque[int]  # classes of the newest records that came through
    n_unreviewed: int = 0  # records since the split was last asked whether it is of use

    def side(self, row: NDArray[np.float64]) -> Leaf | Split:
        """Where a record goes; a feature that it does not have is missing."""
        return self.left if self.feature < len(row) and row[self.feature] <= self.threshold else self.right


def gathered(node: Leaf | Split) -> Window:
    """All records below a node, in the order of their arrival."""
    leaves, stack = [], [node]
    while stack:
        at = stack.pop()
        if isinstance(at, Leaf):
            leaves.append(at.window.view())
        else:
            stack += [at.left, at.right]
    rows = stacked(rows for rows, _, _ in leaves)
    labels = np.concatenate([labels for _, labels, _ in leaves])
    times = np.concatenate([times for _, _, times in leaves])
    order = np.argsort(times, kind="stable")
    return Window(rows[order], labels[order], times[order])


def best_split(rows: NDArray[np.float64], labels: NDArray[np.int32], least: int) -> tuple[float, int, float] | None:
    """The split of highest information gain: gain in nats over all records, feature, threshold; None if there is none.

    Parameters
    ----------
    rows : array of shape (n_records, n_features)
        Missing values (NaN) go right.
    labels : array of shape (n_records,)
        Classes.
    least : int
        Fewest records on either side.
    """
    n = len(labels)
    if n < 2:
        return None
    one_hot = np.eye(int(labels.max()) + 1)[labels]
    whole = one_hot.sum(axis=0)
    order = np.argsort(rows, axis=0, kind="stable")  # missing values last
    values = np.take_along_axis(rows, order, axis=0)
    left = np.cumsum(one_hot[order], axis=0)[:-1]  # (cuts, features, classes)
    n_left = np.arange(1.0, n)[:, np.newaxis]
    gain = _entropy(whole, np.float64(n)) - _entropy(left, n_left) - _entropy(whole - left, n - n_left)
    allowed = values[1:] > values[:-1]  # false beside a missing value
    allowed[: least - 1] = False
    allowed[n - least :] = False
    gain[~allowed] = -math.inf
    cut, feature = np.unravel_index(int(gain.argmax()), gain.shape)
    if gain[cut, feature] == -math.inf:
        return None
    low, high = values[cut, feature], values[cut + 1, feature]
    middle = low + (high - low) / 2
    return float(gain[cut, feature]), int(feature), float(middle if middle < high else low)


def _entropy(counts: NDArray[np.float64], n: NDArray[np.float64] | np.float64) -> NDArray[np.float64]:
    """N times the entropy of class counts, in nats."""
    logs = np.log(np.maximum(counts, 1.0))
    return np.asarray(n * np.log(n) - (counts * logs).sum(axis=-1))
