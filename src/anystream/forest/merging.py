"""Merging of averaging forests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.forest.ensemble import TreeEnsemble

_ALIKE = ("single_records", "single_sums", "accepts_missing", "min_category", "n_features")


def merge_ensembles(
    ensembles: Sequence[TreeEnsemble], class_maps: Sequence[NDArray[np.int32]], classes: NDArray[Any]
) -> TreeEnsemble:
    """Return the average of averaging forests, weighted by the training weight at their roots.

    Parameters
    ----------
    ensembles : sequence of TreeEnsemble
        Forests that average shares of classes.
    class_maps : sequence of arrays
        Class k of ensemble i is class ``class_maps[i][k]`` of the result.
    classes : array of shape (n_classes,)
        Classes of the result.
    """
    for ensemble in ensembles:
        if ensemble.link.kind != "mean":
            raise ValueError(
                f"{ensemble.source} adds up trees that were trained one upon another, which cannot be merged; merge "
                "forests that average (random forest, extra trees), or train one model on all the data"
            )
        for name in _ALIKE:
            ours, theirs = getattr(ensembles[0], name), getattr(ensemble, name)
            if ours != theirs:
                raise ValueError(f"the forests differ in {name} ({ours} and {theirs}); merge forests of one framework")
    data = np.array([_data_weight(ensemble) for ensemble in ensembles])
    share = data / data.sum() if data.sum() > 0 else np.full(len(data), 1 / len(data))
    n_trees = sum(ensemble.n_trees for ensemble in ensembles)
    values = []
    for ensemble, class_map, part in zip(ensembles, class_maps, share.tolist(), strict=True):
        value = np.zeros((ensemble.n_nodes, len(classes)))
        value[:, class_map] = ensemble.value * (part * n_trees / ensemble.divisor)
        values.append(value)
    nodes = np.cumsum([0, *(ensemble.n_nodes for ensemble in ensembles)])
    sets = np.cumsum([0, *(len(ensemble.first_word) - 1 for ensemble in ensembles)])
    words = np.cumsum([0, *(len(ensemble.category_words) for ensemble in ensembles)])
    joined: dict[str, Any] = {
        field.name: np.concatenate([getattr(ensemble, field.name) for ensemble in ensembles])
        for field in fields(TreeEnsemble)
        if field.name in ("feature", "threshold", "missing_left", "zero_missing", "category_words", "cover", "output")
    }
    return replace(
        ensembles[0],
        **joined,
        first_node=_shifted([ensemble.first_node for ensemble in ensembles], nodes),
        first_word=_shifted([ensemble.first_word for ensemble in ensembles], words),
        left=_offset([ensemble.left for ensemble in ensembles], nodes),
        category_set=_offset([ensemble.category_set for ensemble in ensembles], sets),
        value=np.concatenate(values),
        base=np.zeros(len(classes)),
        divisor=float(n_trees),
        classes=classes,
    )


def merge_orders(orders: Sequence[NDArray[np.int32]], n_trees: Sequence[int]) -> NDArray[np.int32]:
    """Return the orders of several forests, interleaved in proportion to their lengths."""
    first_tree = np.cumsum([0, *n_trees])
    progress = np.concatenate([(np.arange(len(order)) + 0.5) / max(len(order), 1) for order in orders])
    trees = np.concatenate([order + first for order, first in zip(orders, first_tree.tolist(), strict=False)])
    return trees[np.argsort(progress, kind="stable")].astype(np.int32)


def _data_weight(ensemble: TreeEnsemble) -> float:
    return float(ensemble.cover[ensemble.first_node[:-1]].mean())


def _shifted(firsts: Sequence[NDArray[np.int64]], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    parts = [first[:-1] + offset for first, offset in zip(firsts, offsets.tolist(), strict=False)]
    return np.concatenate([*parts, offsets[-1:]]).astype(np.int64)


def _offset(numbers: Sequence[NDArray[np.int32]], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    parts = [np.where(part < 0, -1, part + offset) for part, offset in zip(numbers, offsets.tolist(), strict=False)]
    return np.concatenate(parts).astype(np.int32)
