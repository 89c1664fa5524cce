"""Joining trees into the arrays of an ensemble: numbering, and the mean value below every split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.model_file.errors import InvalidContent

MAX_NODES = 2**31 - 2
MAX_DEPTH = 4096
MAX_CATEGORY_WORDS = 2**26
"""Of all sets together: 256 MB."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ImportedTree:
    """One tree as a framework numbers it; node 0 is the root, nodes that no path reaches are left out.

    Parameters
    ----------
    feature, threshold, left, right : arrays of shape (n_nodes,)
        Splits; both children of a leaf are negative. Values up to the threshold go left.
    missing_left : array of shape (n_nodes,)
        Whether NaN goes left.
    value : array of shape (n_nodes, width)
        What a leaf adds; the values of splits are not used.
    cover : array of shape (n_nodes,)
        Training weight of a leaf; the weights of splits are not used.
    zero_missing : array of shape (n_nodes,), optional
        Whether zero goes where NaN goes; by default it does not.
    category_words : mapping of int to array of uint32
        Bits of the categories that go left, for each node that splits on categories.
    """

    feature: NDArray[Any]
    threshold: NDArray[np.float64]
    left: NDArray[Any]
    right: NDArray[Any]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    cover: NDArray[np.float64]
    zero_missing: NDArray[np.bool_] | None = None
    category_words: Mapping[int, NDArray[np.uint32]] = field(default_factory=dict)


def single_leaf(value: NDArray[np.float64]) -> ImportedTree:
    """Return a tree of one leaf."""
    none, zero = np.array([-1]), np.zeros(1)
    return ImportedTree(
        feature=none,
        threshold=zero,
        left=none,
        right=none,
        missing_left=np.zeros(1, bool),
        value=value.reshape(1, -1),
        cover=np.ones(1),
    )


def join_trees(trees: Sequence[ImportedTree]) -> dict[str, NDArray[Any]]:
    """Return the arrays of the nodes for `TreeEnsemble`; raise InvalidContent if they do not form trees."""
    if not trees:
        raise InvalidContent("it has no trees", "train it first")
    sizes = np.array([len(tree.feature) for tree in trees], np.int64)
    offsets = np.cumsum(np.concatenate([[0], sizes]))
    if offsets[-1] > MAX_NODES:
        raise InvalidContent(f"it has {offsets[-1]} nodes, allowed are {MAX_NODES}", "use fewer or smaller trees")
    if (sizes == 0).any():
        raise InvalidContent("it has a tree without nodes")
    widths = {tree.value.shape[1] for tree in trees}
    if len(widths) != 1:
        raise InvalidContent(f"its leaves have different numbers of values, {sorted(widths)}")
    columns = {
        name: np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("feature", "threshold", "missing_left", "value", "cover")
    }
    zero_missing = [
        np.zeros(len(tree.feature), bool) if tree.zero_missing is None else tree.zero_missing for tree in trees
    ]
    left, right = (_shift([getattr(tree, side) for tree in trees], sizes, offsets) for side in ("left", "right"))
    levels = _walk(left, right, offsets[:-1])
    visited = np.concatenate(levels)
    tree_of = np.searchsorted(offsets, visited, side="right") - 1
    order = visited[np.argsort(tree_of, kind="stable")]  # tree by tree, breadth first: siblings stay side by side
    new_number = np.full(offsets[-1], -1, np.int64)
    new_number[order] = np.arange(len(order))
    is_leaf = left < 0
    value, cover = columns["value"].astype(np.float64), columns["cover"].astype(np.float64)
    _average_upwards(levels, left, right, value, cover)
    sets = [
        (offset + node, words)
        for offset, tree in zip(offsets, trees, strict=False)
        for node, words in tree.category_words.items()
    ]
    sets = [(new_number[node], words) for node, words in sets if new_number[node] >= 0 and not is_leaf[node]]
    category_set = np.full(len(order), -1, np.int32)
    category_set[[node for node, _ in sets]] = np.arange(len(sets))
    numeric = (category_set < 0) & ~is_leaf[order]
    return {
        "first_node": np.concatenate([[0], np.cumsum(np.bincount(tree_of, minlength=len(trees)))]).astype(np.int64),
        "feature": np.where(is_leaf, -1, columns["feature"])[order].astype(np.int32),
        "threshold": np.where(numeric, columns["threshold"][order], 0.0),
        "left": np.where(is_leaf, -1, new_number[left])[order].astype(np.int32),
        "missing_left": columns["missing_left"][order].astype(bool) & ~is_leaf[order],
        "zero_missing": np.concatenate(zero_missing)[order].astype(bool) & numeric,
        "category_set": category_set,
        "first_word": np.cumsum([0, *(len(words) for _, words in sets)], dtype=np.int64),
        "category_words": np.concatenate([np.empty(0, np.uint32), *(words for _, words in sets)]),
        "value": np.ascontiguousarray(value[order]),
        "cover": cover[order],
    }


def pack_categories(categories: NDArray[Any], budget: int = MAX_CATEGORY_WORDS) -> NDArray[np.uint32]:
    """Return the bits of a set of category numbers, which must fit into `budget` words."""
    numbers = np.asarray(categories, np.int64)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= 32 * budget):
        raise InvalidContent(
            f"it has category {numbers.min() if numbers.min() < 0 else numbers.max()}, which is too large or negative",
            "number the categories from 0",
        )
    words = np.zeros(int(numbers.max(initial=-1)) // 32 + 1, np.uint32)
    np.bitwise_or.at(words, numbers // 32, np.uint32(1) << (numbers % 32).astype(np.uint32))
    return words


def _shift(children: Sequence[NDArray[Any]], sizes: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return children as numbers among all nodes; -1 for leaves."""
    joined = np.concatenate(children).astype(np.int64)
    if (joined >= np.repeat(sizes, sizes)).any():
        raise InvalidContent(f"it has a child {joined.max()} beyond the nodes of its tree")
    return np.where(joined < 0, -1, joined + np.repeat(offsets[:-1], sizes))


def _walk(left: NDArray[np.int64], right: NDArray[np.int64], roots: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the nodes that paths from the roots reach, level by level; each must be reached once."""
    if ((left < 0) != (right < 0)).any():
        raise InvalidContent("it has a split with one child")
    levels: list[NDArray[np.int64]] = []
    level, n_visited = roots, 0
    while len(level):
        n_visited += len(level)
        if n_visited > len(left):
            raise InvalidContent("it has a node with two parents")
        if len(levels) == MAX_DEPTH:
            raise InvalidContent(f"it has a tree of more than {MAX_DEPTH} levels", "train with a smaller max_depth")
        levels.append(level)
        splits = level[left[level] >= 0]
        level = np.stack([left[splits], right[splits]], axis=1).ravel()
    seen = np.zeros(len(left), bool)
    seen[np.concatenate(levels)] = True
    if seen.sum() != n_visited:
        raise InvalidContent("it has a node with two parents")
    return levels


def _average_upwards(
    levels: list[NDArray[np.int64]],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    value: NDArray[np.float64],
    cover: NDArray[np.float64],
) -> None:
    """Set the value of each split to the mean of the leaves below it, weighted by cover, and its cover to their sum.

    Leaves of one split that have no cover count alike.
    """
    for level in reversed(levels):
        splits = level[left[level] >= 0]
        near, far = left[splits], right[splits]
        cover[splits] = total = cover[near] + cover[far]
        share = np.divide(cover[near], total, out=np.full(len(total), 0.5), where=total > 0)[:, None]
        value[splits] = share * value[near] + (1 - share) * value[far]
