"""A tree that forgets locally, as arrays.

Nodes are numbered from the root on, parents before children. A leaf has no feature (-1). What differs in length from
node to node lies one after another, with the place where each node's part begins: records of leaves, and the newest
classes of splits.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.drift.base import padded
from anystream.drift.file import MOST_RECORDS
from anystream.drift.tree_nodes import Leaf, Split, Window
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays

_SPECS = {
    "feature": ArraySpec("int32", ("nodes",), low=-1),
    "threshold": ArraySpec("float64", ("nodes",), finite=True),
    "left": ArraySpec("int32", ("nodes",), low=-1, high="nodes-1"),
    "right": ArraySpec("int32", ("nodes",), low=-1, high="nodes-1"),
    "hit_rate": ArraySpec("float64", ("nodes",), low=0.0, high=1.0),
    "best_hit_rate": ArraySpec("float64", ("nodes",), low=0.0, high=1.0),
    "counters": ArraySpec("int64", ("nodes", 2), low=0, high=MOST_RECORDS),
    "inherited": ArraySpec("int64", ("nodes", "classes"), low=0, high=MOST_RECORDS),
    "first_record": ArraySpec("int64", ("nodes+1",), low=0, high="records", sorted=True),
    "rows": ArraySpec("float64", ("records", "d")),
    "labels": ArraySpec("int32", ("records",), low=0, high="classes-1"),
    "times": ArraySpec("int64", ("records",), low=0, high=MOST_RECORDS),
    "first_newest": ArraySpec("int64", ("nodes+1",), low=0, high="newest", sorted=True),
    "newest": ArraySpec("int32", ("newest",), low=0, high="classes-1"),
}


def tree_to_arrays(root: Leaf | Split, n_classes: int, n_features: int) -> dict[str, NDArray[Any]]:
    """What `tree_from_file` needs to make the tree again."""
    nodes: list[Leaf | Split] = [root]
    left, right = [], []
    for node in nodes:  # grows as children are found
        children = [node.left, node.right] if isinstance(node, Split) else []
        left.append(len(nodes) if children else -1)
        right.append(len(nodes) + 1 if children else -1)
        nodes += children
    leaves = [node if isinstance(node, Leaf) else None for node in nodes]
    splits = [node if isinstance(node, Split) else None for node in nodes]
    windows = [Window.empty(n_features).view() if leaf is None else leaf.window.view() for leaf in leaves]
    newest = [[] if split is None else list(split.newest) for split in splits]
    inherited = np.zeros((len(nodes), n_classes), np.int64)
    for place, leaf in enumerate(leaves):
        if leaf is not None:
            inherited[place, : len(leaf.inherited)] = leaf.inherited
    counters = [
        (node.n_unreviewed, 0) if isinstance(node, Split) else (node.n_declined, node.n_untested) for node in nodes
    ]
    return {
        "feature": np.array([-1 if split is None else split.feature for split in splits], np.int32),
        "threshold": np.array([0.0 if split is None else split.threshold for split in splits]),
        "left": np.array(left, np.int32),
        "right": np.array(right, np.int32),
        "hit_rate": np.array([node.hit_rate for node in nodes]),
        "best_hit_rate": np.array([0.0 if leaf is None else leaf.best_hit_rate for leaf in leaves]),
        "counters": np.array(counters, np.int64),
        "inherited": inherited,
        "first_record": _firsts(len(labels) for _, labels, _ in windows),
        "rows": np.concatenate([padded(rows, n_features) for rows, _, _ in windows]),
        "labels": np.concatenate([labels for _, labels, _ in windows]),
        "times": np.concatenate([times for _, _, times in windows]),
        "first_newest": _firsts(map(len, newest)),
        "newest": np.array([number for numbers in newest for number in numbers], np.int32),
    }


def tree_from_file(file: ModelFile, *, n_classes: int, n_features: int, max_window: int, memory: int) -> Leaf | Split:
    """The tree of a file, every value checked before it is used."""
    arrays, sizes = check_arrays(file, _SPECS, {"classes": n_classes, "d": n_features})
    feature, left, right = arrays["feature"], arrays["left"], arrays["right"]
    records, newest = np.diff(arrays["first_record"]), np.diff(arrays["first_newest"])
    split, number = feature >= 0, np.arange(sizes["nodes"])
    children = np.sort(np.concatenate([left[split], right[split]]))
    sound = (
        np.array_equal(children, number[1:])  # each node but the root has one parent
        and bool((np.minimum(left, right)[split] > number[split]).all())
        and bool((feature < n_features).all())
        and bool(((newest > 0) & (newest <= memory) & (records == 0))[split].all())
        and bool(((newest == 0) & (records <= max_window))[~split].all())
        and int(arrays["first_record"][-1]) == sizes["records"]
        and int(arrays["first_newest"][-1]) == sizes["newest"]
        and int(arrays["first_record"][0]) == int(arrays["first_newest"][0]) == 0
        and not np.isinf(arrays["rows"]).any()
    )
    if not sound:
        raise ModelFileError(f"{file.path}: the tree is damaged; restore the file from a copy or save the model again")
    made: dict[int, Leaf | Split] = {}
    parts = zip(pairwise(arrays["first_record"].tolist()), pairwise(arrays["first_newest"].tolist()), strict=True)
    for node, (record, recent) in reversed(list(enumerate(parts))):  # children before parents
        hit_rate, (first, second) = float(arrays["hit_rate"][node]), arrays["counters"][node].tolist()
        if split[node]:
            classes = deque(arrays["newest"][slice(*recent)].tolist(), maxlen=memory)
            below = made.pop(int(left[node])), made.pop(int(right[node]))
            threshold = float(arrays["threshold"][node])
            made[node] = Split(int(feature[node]), threshold, *below, hit_rate, classes, first)
        else:
            window = Window(*(arrays[name][slice(*record)].copy() for name in ("rows", "labels", "times")))
            leaf = Leaf.of(window, arrays["inherited"][node].tolist())
            leaf.hit_rate, leaf.best_hit_rate = hit_rate, float(arrays["best_hit_rate"][node])
            leaf.n_declined, leaf.n_untested = first, second
            made[node] = leaf
    return made[0]


def _firsts(lengths: Any) -> NDArray[np.int64]:
    return np.cumsum([0, *lengths], dtype=np.int64)
