"""Learning of a tree that forgets locally: windows shrink, leaves split, splits become leaves again."""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.drift.split_search import grow_splits
from anystream.drift.tree_nodes import Leaf, Node, Split, iterate_leaves
from anystream.drift.window import Window

_LEAF_RATE = 1 / 8
_SPLIT_RATE = 1 / 32
_MIN_RECORDS_TO_SPLIT = 10
_MIN_RECORDS_PER_SIDE = 3
_MIN_GAIN = 2.0  # nats beyond the cost of describing a split
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
    if len(leaf.window) < _MIN_RECORDS_TO_SPLIT or leaf.is_pure():
        return leaf
    records, labels, times = leaf.window.view()
    found = grow_splits(
        records,
        labels,
        min_side=_MIN_RECORDS_PER_SIDE,
        min_records=_MIN_RECORDS_TO_SPLIT,
        n_features=settings.n_features,
        min_gain=_MIN_GAIN,
    )
    if not found.splits:
        return leaf
    labels_of = [labels[rows] for rows in found.rows]
    counts = [leaf.counts, *(np.bincount(own).tolist() for own in labels_of[1:])]
    rates = [max(each) / len(own) for each, own in zip(counts, labels_of, strict=True)]
    nodes: dict[int, Node] = {}
    for parent, split in reversed(found.splits.items()):  # children before parents
        children: list[Node] = []
        for child in (split.left, split.right):
            if child not in nodes:
                rows = found.rows[child]
                window = Window(records[rows], labels_of[child], times[rows])
                nodes[child] = Leaf(window, counts[parent], counts[child], rates[child], rates[child])
            children.append(nodes.pop(child))
        own = labels_of[parent]
        hit_rate = sum(rates[i] * len(labels_of[i]) for i in (split.left, split.right)) / len(own)
        newest = deque(own[-settings.review_every :].tolist(), maxlen=settings.review_every)
        nodes[parent] = Split(split.feature, split.threshold, children[0], children[1], hit_rate, newest)
    return nodes[0]


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
