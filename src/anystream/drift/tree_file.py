"""Trees that forget locally in model files: nodes as arrays.

Nodes are numbered from the root, parents before children. The feature of a leaf is -1. Parts of different length per
node (records of leaves, newest classes of splits) are concatenated; ``first_record`` and ``first_newest`` tell where
the part of each node starts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.drift.columns import pad_columns
from anystream.drift.tree_nodes import Leaf, Node, Split
from anystream.drift.window import Window
from anystream.estimators.parameters import MAX_INT
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays

_SPECS = {
    "feature": ArraySpec("int32", ("nodes",), low=-1),
    "threshold": ArraySpec("float64", ("nodes",), finite=True),
    "left": ArraySpec("int32", ("nodes",), low=-1, high="nodes-1"),
    "right": ArraySpec("int32", ("nodes",), low=-1, high="nodes-1"),
    "hit_rate": ArraySpec("float64", ("nodes",), low=0.0, high=1.0),
    "best_hit_rate": ArraySpec("float64", ("nodes",), low=0.0, high=1.0),
    "counters": ArraySpec("int64", ("nodes", 2), low=0, high=MAX_INT),
    "inherited": ArraySpec("int64", ("nodes", "classes"), low=0, high=MAX_INT),
    "first_record": ArraySpec("int64", ("nodes+1",), low=0, high="records", sorted=True),
    "records": ArraySpec("float64", ("records", "d")),
    "labels": ArraySpec("int32", ("records",), low=0, high="classes-1"),
    "times": ArraySpec("int64", ("records",), low=0, high=MAX_INT),
    "first_newest": ArraySpec("int64", ("nodes+1",), low=0, high="newest", sorted=True),
    "newest": ArraySpec("int32", ("newest",), low=0, high="classes-1"),
}


def tree_to_arrays(root: Node, n_classes: int, n_features: int) -> dict[str, NDArray[Any]]:
    """Return the arrays from which `tree_from_file` restores the tree."""
    nodes: list[Node] = [root]
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
    for i, leaf in enumerate(leaves):
        if leaf is not None:
            inherited[i, : len(leaf.inherited)] = leaf.inherited
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
        "first_record": _starts(len(labels) for _, labels, _ in windows),
        "records": np.concatenate([pad_columns(records, n_features) for records, _, _ in windows]),
        "labels": np.concatenate([labels for _, labels, _ in windows]),
        "times": np.concatenate([times for _, _, times in windows]),
        "first_newest": _starts(map(len, newest)),
        "newest": np.array([number for numbers in newest for number in numbers], np.int32),
    }


def tree_from_file(file: ModelFile, *, n_classes: int, n_features: int, max_window: int, max_newest: int) -> Node:
    """Return the tree of a file, every value checked before it is used."""
    arrays, sizes = check_arrays(file, _SPECS, {"classes": n_classes, "d": n_features})
    if not _is_valid(arrays, sizes, n_features, max_window, max_newest):
        raise ModelFileError(f"{file.path}: the tree is damaged; restore the file from a copy or save the model again")
    nodes: dict[int, Node] = {}
    records, newest = (pairwise(arrays[name].tolist()) for name in ("first_record", "first_newest"))
    for i, (record_span, newest_span) in reversed(list(enumerate(zip(records, newest, strict=True)))):
        if arrays["feature"][i] < 0:
            nodes[i] = _read_leaf(arrays, i, slice(*record_span))
        else:  # the children have higher numbers, so they exist already
            left, right = nodes.pop(int(arrays["left"][i])), nodes.pop(int(arrays["right"][i]))
            nodes[i] = _read_split(arrays, i, left, right, slice(*newest_span), max_newest)
    return nodes[0]


def _is_valid(
    arrays: dict[str, NDArray[Any]], sizes: dict[str, int], n_features: int, max_window: int, max_newest: int
) -> bool:
    """Whether the nodes form one tree and their parts lie one after another and are not too long."""
    feature, left, right = arrays["feature"], arrays["left"], arrays["right"]
    n_records, n_newest = np.diff(arrays["first_record"]), np.diff(arrays["first_newest"])
    split, number = feature >= 0, np.arange(sizes["nodes"])
    children = np.sort(np.concatenate([left[split], right[split]]))
    return (
        np.array_equal(children, number[1:])  # each node but the root has one parent
        and bool((np.minimum(left, right)[split] > number[split]).all())
        and bool((feature < n_features).all())
        and bool(((n_newest > 0) & (n_newest <= max_newest) & (n_records == 0))[split].all())
        and bool(((n_newest == 0) & (n_records <= max_window))[~split].all())
        and int(arrays["first_record"][-1]) == sizes["records"]
        and int(arrays["first_newest"][-1]) == sizes["newest"]
        and int(arrays["first_record"][0]) == int(arrays["first_newest"][0]) == 0
        and not np.isinf(arrays["records"]).any()
    )


def _read_leaf(arrays: dict[str, NDArray[Any]], i: int, part: slice) -> Leaf:
    window = Window(*(arrays[name][part].copy() for name in ("records", "labels", "times")))
    leaf = Leaf.from_window(window, arrays["inherited"][i].tolist())
    leaf.hit_rate, leaf.best_hit_rate = float(arrays["hit_rate"][i]), float(arrays["best_hit_rate"][i])
    leaf.n_declined, leaf.n_untested = arrays["counters"][i].tolist()
    return leaf


def _read_split(
    arrays: dict[str, NDArray[Any]], i: int, left: Node, right: Node, part: slice, max_newest: int
) -> Split:
    newest = deque(arrays["newest"][part].tolist(), maxlen=max_newest)
    feature, threshold = int(arrays["feature"][i]), float(arrays["threshold"][i])
    return Split(feature, threshold, left, right, float(arrays["hit_rate"][i]), newest, int(arrays["counters"][i, 0]))


def _starts(lengths: Iterable[int]) -> NDArray[np.int64]:
    """Return where each part starts, and where the last one ends."""
    return np.cumsum([0, *lengths], dtype=np.int64)
