"""Orders: in which sequence the steps of a query advance the trees.

An order is one list of trees for all records. Step k of a query advances tree ``order[k]`` by one level; slots of trees
that are at a leaf already are skipped and not counted. Every tree occurs as often as it has levels below its root.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.forest.ensemble import TreeEnsemble


def tree_depths(ensemble: TreeEnsemble) -> NDArray[np.int64]:
    """Return the number of levels below the root of each tree."""
    depth = np.zeros(ensemble.n_nodes, np.int64)
    level: NDArray[Any] = ensemble.first_node[:-1]
    below = 0
    while len(level):
        depth[level] = below
        left = ensemble.left[level]
        level = np.concatenate([left[left >= 0], left[left >= 0] + 1])
        below += 1
    return np.maximum.reduceat(depth, ensemble.first_node[:-1])


def training_order(depths: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the order that reads one tree after another to its leaf."""
    return np.repeat(np.arange(len(depths), dtype=np.int32), depths)


def breadth_first_order(depths: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the order that reads one level of all trees after another."""
    level = np.concatenate([np.arange(depth) for depth in depths.tolist()])
    return training_order(depths)[np.argsort(level, kind="stable")]


def fit_order(order: NDArray[np.int32], depths: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return an order of other trees, adapted to trees of these depths.

    Slots of trees that are shallower are left out; what deeper trees need follows at the end, level by level.
    """
    order = order[order < len(depths)]
    place = np.argsort(order, kind="stable")
    first = np.searchsorted(order[place], np.arange(len(depths)))
    level = np.empty(len(order), np.int64)
    level[place] = np.arange(len(order)) - first[order[place]]
    kept = order[level < depths[order]]
    missing = depths - np.bincount(kept, minlength=len(depths))
    return np.concatenate([kept, breadth_first_order(missing)]).astype(np.int32)
