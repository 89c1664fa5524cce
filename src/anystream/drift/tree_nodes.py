"""Nodes of a tree that forgets locally: leaves with windows of records, and splits."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anystream.drift.window import Window


@dataclass(slots=True, eq=False)
class Leaf:
    """Leaf with a window of its records and a measure of how well it predicts them.

    Parameters
    ----------
    window : Window
        The newest records.
    inherited : list of int
        Class counts of the parent, which are used while the window is empty.
    counts : list of int
        Class counts of the window.
    hit_rate, best_hit_rate : float
        Running rate of correct predictions, and its maximum.
    n_declined : int
        Number of consecutive records for which the hit rate was clearly below its maximum.
    n_untested : int
        Records since the last search for a split.
    """

    window: Window
    inherited: list[int]
    counts: list[int] = field(default_factory=list)
    hit_rate: float = 0.0
    best_hit_rate: float = 0.0
    n_declined: int = 0
    n_untested: int = 0

    @classmethod
    def from_window(cls, window: Window, inherited: list[int]) -> Leaf:
        """Return a leaf that starts with the records of a window."""
        leaf = cls(window, inherited)
        leaf.recount()
        n = len(window)
        leaf.hit_rate = leaf.best_hit_rate = max(leaf.counts, default=0) / n if n else 0.0
        return leaf

    def copy(self) -> Leaf:
        """Return a leaf that can learn while this one stays unchanged; see `Window.share`."""
        return Leaf(
            self.window.share(),
            self.inherited,
            self.counts.copy(),
            self.hit_rate,
            self.best_hit_rate,
            self.n_declined,
            self.n_untested,
        )

    def recount(self) -> None:
        """Count the classes of the window."""
        self.counts = np.bincount(self.window.view()[1]).tolist()

    @property
    def used_counts(self) -> list[int]:
        """Class counts that give the probabilities."""
        return self.counts if len(self.window) else self.inherited

    @property
    def label(self) -> int:
        """The most frequent class, the first of equals."""
        counts = self.used_counts
        return counts.index(max(counts)) if counts else 0

    def is_pure(self) -> bool:
        """Whether all records of the window are of one class."""
        return max(self.counts, default=0) == len(self.window)


@dataclass(slots=True, eq=False)
class Split:
    """Test of one feature: values up to the threshold go left; larger and missing ones go right.

    Parameters
    ----------
    feature : int
        Feature to compare.
    threshold : float
        Largest value that goes left.
    left, right : Leaf or Split
        Children.
    hit_rate : float
        Running rate of correct predictions below this node.
    newest : deque of int
        Classes of the newest records that passed.
    n_unreviewed : int
        Records since the last review of the split.
    """

    feature: int
    threshold: float
    left: Leaf | Split
    right: Leaf | Split
    hit_rate: float
    newest: deque[int]
    n_unreviewed: int = 0

    def child(self, record: NDArray[np.float64]) -> Leaf | Split:
        """Return the side of a record; a feature that it lacks is missing."""
        return self.left if self.feature < len(record) and record.item(self.feature) <= self.threshold else self.right

    def copy(self) -> Split:
        """Return a split that can learn while this one stays unchanged, with the same children."""
        return Split(
            self.feature, self.threshold, self.left, self.right, self.hit_rate, self.newest.copy(), self.n_unreviewed
        )


Node = Leaf | Split


def find_leaf(node: Node, record: NDArray[np.float64]) -> Leaf:
    """Return the leaf of a record below a node."""
    while isinstance(node, Split):
        node = node.child(record)
    return node


def iterate_leaves(node: Node) -> Iterator[Leaf]:
    """Yield all leaves below a node, from right to left."""
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, Leaf):
            yield current
        else:
            pending += [current.left, current.right]


def copy_tree(root: Node) -> Node:
    """Return a tree that can learn while this one stays unchanged; windows share their memory (see `Window.share`)."""
    copied = root.copy()
    pending = [copied]
    while pending:
        node = pending.pop()
        if isinstance(node, Split):
            node.left, node.right = node.left.copy(), node.right.copy()
            pending += [node.left, node.right]
    return copied


def copy_path(root: Node, record: NDArray[np.float64]) -> Node:
    """Return a tree that can learn `record` while this one stays unchanged; both share the nodes beside its path."""
    copied = node = root.copy()
    while isinstance(node, Split):
        child = node.child(record)
        goes_left, child_copy = child is node.left, child.copy()
        if goes_left:
            node.left = child_copy
        else:
            node.right = child_copy
        node = child_copy
    return copied
