"""Backward Squirrel: trees, or rounds of boosting, compete for the last place.

Trees of one round of boosting (one per class) advance together; beyond `MAX_GROUPS` groups, neighbouring
rounds do, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.forest.ensemble import TreeEnsemble
from anystream.forest.evaluation import encode_records, goes_left
from anystream.forest.orders import breadth_first_order, tree_depths

MAX_GROUPS = 128
_MAX_LEVELS = 64  # deeper levels follow at the end
_MAX_WORK = 400_000_000  # scores computed in all
_MAX_RECORDS = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class _Ladder:
    """Scores that each group adds to each record when it has been read down to each level.

    Parameters
    ----------
    scores : array of shape (n_levels + 1, n_groups, n_records, n_outputs)
        Level 0 is the root; averaged trees add nothing there.
    start : array of shape (n_records, n_outputs)
        Scores without any group.
    depths : array of shape (n_groups,)
        Number of levels of each group.
    trees : list of arrays
        Trees of each group.
    numbers : array of shape (n_records,)
        Classes of the records.
    """

    scores: NDArray[np.float32]
    start: NDArray[np.float32]
    depths: NDArray[np.int64]
    trees: list[NDArray[np.int64]]
    numbers: NDArray[np.int32]


def squirrel_order(
    ensemble: TreeEnsemble, records: NDArray[np.float64], numbers: NDArray[np.int32], seed: int = 0
) -> NDArray[np.int32]:
    """Return the Backward Squirrel order of the groups [1]_.

    From all groups at full depth, the step is undone, again and again, without which the accuracy on the records is
    highest; ties go to the larger margins, then to the last group. The order is the reverse of that.

    References
    ----------
    .. [1] Biebert, Hakert, Heider, Kuhse, Buschjaeger, Chen, "Jump like a squirrel", 2026.
    """
    ladder = _climb(ensemble, records, numbers, seed)
    level = ladder.depths.copy()
    groups = np.arange(len(level))
    current = ladder.start + (ladder.scores[level, groups] - ladder.scores[0]).sum(axis=0)
    undone = []
    while level.any():
        open_groups = groups[level > 0][::-1]
        step = ladder.scores[level[open_groups] - 1, open_groups] - ladder.scores[level[open_groups], open_groups]
        scores = current + step
        right = (scores.argmax(axis=2) == ladder.numbers).mean(axis=1)
        value = right + 1e-6 * _soft_accuracy(scores, ladder.numbers)
        best = value.argmax()
        current += step[best]
        level[open_groups[best]] -= 1
        undone.append(int(open_groups[best]))
    return _expand(undone[::-1], ladder.trees, tree_depths(ensemble))


def _soft_accuracy(scores: NDArray[np.float32], numbers: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the mean of the squashed margins, for every group, of scores of shape (n_groups, n_records, n_outputs)."""
    right = np.take_along_axis(scores, numbers[np.newaxis, :, np.newaxis], axis=2)[:, :, 0]
    others = scores.copy()
    np.put_along_axis(others, np.broadcast_to(numbers[:, np.newaxis], (*scores.shape[:2], 1)), -np.inf, axis=2)
    margin = right - others.max(axis=2)
    scale = np.maximum(np.abs(margin).mean(axis=1, keepdims=True), 1e-9)
    return np.asarray(np.tanh(2 * margin / scale).mean(axis=1), np.float64)


def _climb(ensemble: TreeEnsemble, records: NDArray[np.float64], numbers: NDArray[np.int32], seed: int) -> _Ladder:
    """Return the scores of a sample of the records at every level."""
    depths = tree_depths(ensemble)
    trees = _group_trees(ensemble)
    group_depths = np.array([min(depths[group].max(initial=0), _MAX_LEVELS) for group in trees])
    width = max(ensemble.n_outputs, 2)
    places = int(group_depths.sum())
    n_records = int(np.clip(_MAX_WORK // max(places * len(trees) * width, 1), 50, _MAX_RECORDS))
    if len(records) > n_records:
        chosen = np.random.default_rng(seed).permutation(len(records))[:n_records]
        records, numbers = records[chosen], numbers[chosen]
    n_levels = int(group_depths.max(initial=0))
    scores = np.zeros((n_levels + 1, len(trees), len(records), width), np.float32)
    encoded = encode_records(ensemble, records)
    nodes = np.broadcast_to(ensemble.first_node[:-1], (len(records), ensemble.n_trees)).copy()
    for level in range(int(depths.max(initial=0)) + 1):
        if level <= n_levels:
            scores[level] = _group_scores(ensemble, nodes, trees, width)
        nodes = _descend(ensemble, encoded, nodes)
    scores[-1] = _group_scores(ensemble, nodes, trees, width)
    for group, depth in enumerate(group_depths.tolist()):  # what was cut is read with the last level
        scores[depth, group] = scores[-1, group]
    start = _base_scores(ensemble, len(records), width)
    if ensemble.link.kind == "mean":  # unread trees do not count; a little, so that there is a label
        start = start + 1e-6 * scores[0].sum(axis=0)
        scores[0] = 0
    else:
        start = start + scores[0].sum(axis=0)
    return _Ladder(scores, start.astype(np.float32), group_depths, trees, numbers)


def _group_trees(ensemble: TreeEnsemble) -> list[NDArray[np.int64]]:
    together = 1 if (ensemble.output < 0).any() else ensemble.n_outputs
    n_groups = min(-(-ensemble.n_trees // together), MAX_GROUPS)
    rounds = np.arange(ensemble.n_trees) // together
    return np.array_split(np.arange(ensemble.n_trees), np.searchsorted(rounds, _starts(rounds, n_groups)[1:]))


def _starts(rounds: NDArray[np.int64], n_groups: int) -> NDArray[np.int64]:
    return np.array([part[0] for part in np.array_split(np.unique(rounds), n_groups)])


def _base_scores(ensemble: TreeEnsemble, n_records: int, width: int) -> NDArray[np.float64]:
    base = np.tile(np.pad(ensemble.base, (width - ensemble.n_outputs, 0)), (n_records, 1))
    return np.asarray(base)


def _group_scores(
    ensemble: TreeEnsemble, nodes: NDArray[Any], trees: list[NDArray[np.int64]], width: int
) -> NDArray[np.float32]:
    """Return the sums of the values of the present nodes, shape (n_groups, n_records, width)."""
    sums = np.zeros((len(trees), len(nodes), width), np.float32)
    pad = width - ensemble.n_outputs  # a sigmoid's score is that of the second class, against 0
    for group, members in enumerate(trees):
        for tree in members.tolist():
            output = int(ensemble.output[tree])
            if ensemble.value.shape[1] > 1:
                sums[group] += ensemble.value[nodes[:, tree]]
            else:
                sums[group, :, pad + max(output, 0)] += ensemble.value[nodes[:, tree], 0]
    return sums


def _descend(ensemble: TreeEnsemble, encoded: NDArray[np.float64], nodes: NDArray[Any]) -> NDArray[Any]:
    left = ensemble.left[nodes]
    return np.where(left >= 0, left + ~goes_left(ensemble, encoded, nodes), nodes)


def _expand(groups: list[int], trees: list[NDArray[np.int64]], depths: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the slots of trees for slots of groups; levels that were cut follow at the end."""
    left = depths.copy()
    slots: list[int] = []
    for group in groups:
        members = trees[group][left[trees[group]] > 0]
        left[members] -= 1
        slots.extend(members.tolist())
    return np.concatenate([np.array(slots, np.int32), breadth_first_order(left)]).astype(np.int32)
