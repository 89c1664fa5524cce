"""All trees of an ensemble, read to their leaves with NumPy: what the framework answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.forest.ensemble import TreeEnsemble
from anystream.forest.thresholds import ZERO

_MAX_CATEGORY = 2.0**31
_CHUNK = 2**22  # pairs of record and tree in memory


def encode_records(ensemble: TreeEnsemble, records: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return records as splits read them: rounded, and category numbers for categories.

    A value that is no category becomes -1, which is in no set; NaN stays NaN.
    """
    encoded = records.astype(np.float64)
    if ensemble.single_records:
        with np.errstate(over="ignore"):
            encoded = records.astype(np.float32).astype(np.float64)
    for feature in ensemble.categorical.tolist():
        column = encoded[:, feature]
        values = ensemble.categories.get(feature)
        codes = _truncate(column, ensemble.min_category) if values is None else _look_up(records[:, feature], values)
        encoded[:, feature] = np.where(np.isnan(column), np.nan, codes)
    return encoded


def find_leaves(ensemble: TreeEnsemble, encoded: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the leaf of every encoded record in every tree, shape (n_records, n_trees)."""
    nodes = np.broadcast_to(ensemble.first_node[:-1], (len(encoded), ensemble.n_trees)).copy()
    while (ensemble.left[nodes] >= 0).any():
        nodes = np.where(ensemble.left[nodes] >= 0, ensemble.left[nodes] + ~goes_left(ensemble, encoded, nodes), nodes)
    return nodes


def goes_left(ensemble: TreeEnsemble, encoded: NDArray[np.float64], nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether encoded records go left at nodes, shape (n_records, n_trees); leaves have no meaning."""
    rows = np.arange(len(encoded))[:, None]
    values = encoded[rows, np.maximum(ensemble.feature[nodes], 0)]
    below = np.where(
        ensemble.category_set[nodes] >= 0,
        _in_set(ensemble, ensemble.category_set[nodes], values),
        values <= ensemble.threshold[nodes],
    )
    missing = np.isnan(values) | (ensemble.zero_missing[nodes] & (np.abs(values) <= ZERO))
    return np.where(missing, ensemble.missing_left[nodes], below)


def score_records(ensemble: TreeEnsemble, records: NDArray[np.float64]) -> NDArray[Any]:
    """Return the scores of all trees, shape (n_records, n_outputs), in the precision of the framework."""
    step = max(_CHUNK // ensemble.n_trees, 1)
    parts = [_score(ensemble, records[start : start + step]) for start in range(0, max(len(records), 1), step)]
    return np.concatenate(parts)


def _score(ensemble: TreeEnsemble, records: NDArray[np.float64]) -> NDArray[Any]:
    dtype = np.float32 if ensemble.single_sums else np.float64
    leaves = find_leaves(ensemble, encode_records(ensemble, records))
    scores = np.tile(ensemble.base.astype(dtype), (len(records), 1))
    value = ensemble.value.astype(dtype)
    for tree, output in enumerate(ensemble.output.tolist()):  # in this order: rounding depends on it
        if output < 0:
            scores += value[leaves[:, tree]]
        else:
            scores[:, output] += value[leaves[:, tree], 0]
    return np.asarray(scores / dtype(ensemble.divisor))


def _in_set(ensemble: TreeEnsemble, sets: NDArray[np.int32], values: NDArray[np.float64]) -> NDArray[np.bool_]:
    if not len(ensemble.category_words):
        return np.zeros(values.shape, bool)
    number = np.where((values >= 0) & (sets >= 0), values, 0).astype(np.int64)
    word = ensemble.first_word[np.maximum(sets, 0)] + number // 32
    known = (values >= 0) & (sets >= 0) & (word < ensemble.first_word[np.maximum(sets, 0) + 1])
    bits = ensemble.category_words[np.where(known, word, 0)] >> (number % 32).astype(np.uint32)
    return np.asarray(known & (bits & 1 == 1))


def _truncate(column: NDArray[np.float64], min_category: float) -> NDArray[np.float64]:
    return np.where((column >= min_category) & (column < _MAX_CATEGORY), np.trunc(column) + 0.0, -1.0)


def _look_up(column: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not len(values):
        return np.full(len(column), -1.0)
    order = np.argsort(values)
    place = np.minimum(np.searchsorted(values[order], column), len(values) - 1)
    return np.where(values[order][place] == column, order[place], -1.0)
