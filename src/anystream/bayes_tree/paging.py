"""Nodes of the trees in pages: the layout of a file whose model is larger than the memory.

A query reads one node per step, and the node is one run of floats in the array ``blob``; see `forest.hpp`. Packed back
to back, a run often begins on one page of the file and ends on the next, and a step then waits for two reads. Here no
node that fits a page straddles two: the gap before it is filled with zeros. Nodes follow level by level, those
below one node side by side, so that nodes that are read one after the other tend to share pages::

    packed    |  root  | node 1 | no:de 2 | leaf 3 | le:af 4 | ...          (: where a page ends)
    in pages  |  root  | node 1 | 0 0 : node 2 | leaf 3 | 0 : leaf 4 | ...

Only positions change, no number of any node: the answers are those of the packed file, bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream._native import BayesForest
from anystream.estimators.parameters import check_int

MIN_PAGE_BYTES, MAX_PAGE_BYTES = 512, 2**21
"""The smallest sector of a disk, and the largest page that is common."""

_MAX_FANOUT = 64
_FLOAT_BYTES = 4
_QUAD = np.uint64(4)  # an offset counts groups of four floats, in the lower 40 bits of a head
_OFFSET_MASK = np.uint64(2**40 - 1)


def check_page_bytes(page_bytes: object) -> int:
    """Return the size of a page; ValueError unless it is a power of two in the range."""
    size = check_int("page_bytes", page_bytes, MIN_PAGE_BYTES)
    if size > MAX_PAGE_BYTES or size & (size - 1):
        raise ValueError(
            f"page_bytes is {size}; use a power of two from {MIN_PAGE_BYTES} to {MAX_PAGE_BYTES}, such as 4096"
        )
    return size


def fanout_of_page(page_bytes: int, n_features: int) -> int:
    """Return the largest fanout of which an inner node of records with `n_features` features fits a page.

    An entry has a mean and a precision per feature, and three numbers more; entries are stored by 4, 8, 16, 24, ... 64.
    """
    entry_bytes = (2 * n_features + 3) * _FLOAT_BYTES
    fitting: list[int] = [lanes for lanes in (4, *range(8, _MAX_FANOUT + 1, 8)) if lanes * entry_bytes <= page_bytes]
    if not fitting:
        raise ValueError(
            f"fanout is 'page', but a node of 4 entries of {n_features} features has {4 * entry_bytes} bytes and a "
            f"page {page_bytes}; use a larger page_bytes, or a number for fanout"
        )
    return fitting[-1]


def lay_out_in_pages(forest: BayesForest, arrays: dict[str, NDArray[Any]], page_bytes: int) -> dict[str, NDArray[Any]]:
    """Return what changes in the arrays of a forest: ``blob``, ``head`` and ``free_runs``.

    Parameters
    ----------
    forest : BayesForest
        The trees.
    arrays : dict of str to ndarray
        All arrays of `forest`.
    page_bytes : int
        Size of a page. A node that is larger begins at a page.
    """
    head, blob = arrays["head"], arrays["blob"]
    sizes = _node_floats(head, forest.dimensions).tolist()
    before = ((head & _OFFSET_MASK) * _QUAD).tolist()
    page = page_bytes // _FLOAT_BYTES
    after, end = np.zeros(len(head), np.uint64), 0
    for node in _nodes_by_level(forest, arrays["class_root"]):
        if end % page + sizes[node] > page:
            end += -end % page
        after[node] = end
        end += sizes[node]
    moved = np.zeros(end, blob.dtype)
    for old, new, size in zip(before, after.tolist(), sizes, strict=True):
        moved[new : new + size] = blob[old : old + size]
    return {
        "blob": moved,
        "head": (head & ~_OFFSET_MASK) | (after // _QUAD),
        "free_runs": np.full_like(arrays["free_runs"], -1),  # the gaps of nodes that were removed are not written
    }


def _node_floats(head: NDArray[np.uint64], n_features: int) -> NDArray[np.int64]:
    """Return the number of floats of each node, as `NodeHead::floats` has it."""
    lanes = (head >> np.uint64(40) & np.uint64(0xFF)).astype(np.int64) * 4
    is_leaf = (head >> np.uint64(56) & np.uint64(1)).astype(bool)
    floats: NDArray[np.int64] = lanes * np.where(is_leaf, n_features + 1, 2 * n_features + 3)
    return floats


def _nodes_by_level(forest: BayesForest, class_root: NDArray[np.int32]) -> list[int]:
    """Return all nodes from the roots down, those below one node side by side."""
    entries = forest.entries()
    first, child = entries["first"].tolist(), entries["child"].tolist()
    nodes: list[int] = [root for root in class_root.tolist() if root >= 0]
    for node in nodes:  # the list grows while it is read
        nodes.extend(below for below in child[first[node] : first[node + 1]] if below >= 0)
    return nodes
