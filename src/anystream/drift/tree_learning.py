"""Learning of a tree that forgets locally: windows shrink, leaves split, splits become leaves again."""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.drift.best_split import best_split
from anystream.drift.tree_nodes import Leaf, Node, Split, iterate_leaves
from anystream.drift.window import Window

_LEAF_RATE = 1 / 8
_SPLIT_RATE = 1 / 32
_MIN_RECORDS_TO_SPLIT = 10
_MIN_RECORDS_PER_SIDE = 3
_MIN_BENEFIT = -0.02  # of a split's hit rate over the share of the largest class


class TreeSettings(NamedTuple):
    """Parameters of `OnlineTree2`, and the number of features."""

    decline: float
    max_window: int
    min_window: int
    test_every: int
    review_every: int
    n_features: int


def learn_record(root: Node, settings: TreeSettings, record: NDArray[np.float64], number: int, n_learned: int) -> Node:
    """Learn one record, in place, and return the root, which may be a new one; `n_learned` records came before it.

    This cannot fail for a validated record.
    """
    path, leaf = _descend(root, record)
    hit = leaf.label == number
    _add_to_leaf(leaf, settings, record, number, n_learned, hit)
    for split in path:
        split.hit_rate += (hit - split.hit_rate) * _SPLIT_RATE
        split.newest.append(number)
        split.n_unreviewed += 1
    for depth, split in enumerate(path):  # the highest useless split is removed with everything below it
        if split.n_unreviewed >= settings.review_every:
            split.n_unreviewed = 0
            if _is_useless(split):
                return _replace_node(root, path[:depth], split, _to_leaf(split, settings))
    if leaf.n_untested >= max(settings.test_every, len(leaf.window) // 20):
        leaf.n_untested = 0
        return _replace_node(root, path, leaf, grow(leaf, settings))
    return root


def grow(leaf: Leaf, settings: TreeSettings) -> Node:
    """Return the leaf, or a subtree of splits whose gain exceeds their cost."""
    root = _try_split(leaf, settings)
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Split):
            node.left, node.right = _grow_child(node.left, settings), _grow_child(node.right, settings)
            pending += [node.left, node.right]
    return root


def _grow_child(node: Node, settings: TreeSettings) -> Node:
    return _try_split(node, settings) if isinstance(node, Leaf) else node


def _try_split(leaf: Leaf, settings: TreeSettings) -> Node:
    """Return the leaf, or a split with two new leaves."""
    records, labels, times = leaf.window.view()
    n = len(records)
    if n < _MIN_RECORDS_TO_SPLIT or leaf.is_pure():
        return leaf
    found = best_split(records, labels, _MIN_RECORDS_PER_SIDE)
    if found is None or found.gain <= math.log(settings.n_features * (n - 1)) + 2:
        return leaf
    goes_left = records[:, found.feature] <= found.threshold
    left, right = (
        Leaf.from_window(Window(records[side], labels[side], times[side]), leaf.counts)
        for side in (goes_left, ~goes_left)
    )
    hit_rate = (left.hit_rate * len(left.window) + right.hit_rate * len(right.window)) / n
    newest = deque(labels[-settings.review_every :].tolist(), maxlen=settings.review_every)
    return Split(found.feature, found.threshold, left, right, hit_rate, newest)


def _descend(root: Node, record: NDArray[np.float64]) -> tuple[list[Split], Leaf]:
    path: list[Split] = []
    node = root
    while isinstance(node, Split):
        path.append(node)
        node = node.child(record)
    return path, node


def _add_to_leaf(
    leaf: Leaf, settings: TreeSettings, record: NDArray[np.float64], number: int, n_learned: int, hit: bool
) -> None:
    """Add a record to a leaf, and shrink the window if the predictions of the leaf have become worse."""
    leaf.hit_rate += (hit - leaf.hit_rate) * _LEAF_RATE
    leaf.best_hit_rate = max(leaf.best_hit_rate, leaf.hit_rate)
    leaf.n_declined = leaf.n_declined + 1 if leaf.hit_rate < leaf.best_hit_rate - settings.decline else 0
    leaf.n_untested += 1
    leaf.window.add(record, number, n_learned)
    if number >= len(leaf.counts):
        leaf.counts += [0] * (number + 1 - len(leaf.counts))
    leaf.counts[number] += 1
    size = len(leaf.window)
    if leaf.n_declined > 4 + math.sqrt(size):
        leaf.window.keep_newest(max(settings.min_window, size // 2))
        leaf.best_hit_rate, leaf.n_declined = leaf.hit_rate, 0
        leaf.recount()
    elif size > settings.max_window:
        leaf.window.keep_newest(settings.max_window)
        leaf.recount()


def _is_useless(split: Split) -> bool:
    """Whether the newest records are of one class, or their largest class alone predicts better."""
    n_largest = Counter(split.newest).most_common(1)[0][1]
    return n_largest == len(split.newest) or split.hit_rate < n_largest / len(split.newest) + _MIN_BENEFIT


def _to_leaf(split: Split, settings: TreeSettings) -> Node:
    """Return a leaf with the newer half of the records below a split, grown again if that pays."""
    window = Window.merge(leaf.window for leaf in iterate_leaves(split))
    counts = np.bincount(window.view()[1]).tolist()
    window.keep_newest(min(settings.max_window, max(settings.min_window, len(window) // 2)))
    return grow(Leaf.from_window(window, counts), settings)


def _replace_node(root: Node, path: list[Split], old: Node, new: Node) -> Node:
    """Put `new` in the place of `old`, whose ancestors are `path`; return the root."""
    if not path:
        return new
    if path[-1].left is old:
        path[-1].left = new
    else:
        path[-1].right = new
    return root
