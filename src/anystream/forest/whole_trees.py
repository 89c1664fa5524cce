"""Orders that read one tree after another to its leaf: one list for all records, or one per record.

`gain_order` is a list that is chosen on data. Boosted ensembles with trees for each class can leave the order to the
record, without data: see `expected_scores`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream.forest.ensemble import TreeEnsemble
from anystream.forest.evaluation import encode_records, find_leaves
from anystream.forest.orders import tree_depths

SMOOTHING = 0.02
"""Share of an even vote in the probabilities of averaging forests, so that log losses are finite."""
MAX_GROUPS = 128
"""Number of groups that compete for the next place: beyond it, neighbouring trees are read together."""
_MAX_RECORDS = 2_000
_MAX_WORK = 400_000_000  # scores computed in all
_MAX_PAIRS = 20_000_000  # of record and tree in memory


def gain_order(
    ensemble: TreeEnsemble, records: NDArray[np.float64], numbers: NDArray[np.int32], seed: int = 0
) -> NDArray[np.int32]:
    """Return the list that reads next the tree with which those before it have the least log loss on the records.

    Averaged trees count once they are read, others with their root before; ties go to the first tree. Trees of one
    round of boosting, one per class, compete together.
    """
    groups = _group_trees(ensemble)
    averages = ensemble.link.kind == "mean"
    work = len(groups) ** 2 * (1 if averages else 2 * ensemble.n_outputs)
    records, numbers = _sample(ensemble, records, numbers, seed, work)
    leaves = find_leaves(ensemble, encode_records(ensemble, records))
    chosen = (_order_averaged if averages else _order_added)(ensemble, leaves, numbers, groups)
    trees = np.concatenate([groups[group] for group in chosen])
    return np.repeat(trees, tree_depths(ensemble)[trees]).astype(np.int32)


def has_trees_per_class(ensemble: TreeEnsemble) -> bool:
    """Whether every tree adds to one of several classes, so that a record can have an order of its own."""
    return ensemble.link.kind != "mean" and ensemble.n_outputs > 1 and bool((ensemble.output >= 0).all())


def expected_scores(ensemble: TreeEnsemble) -> NDArray[np.float64]:
    """Return what the winning class is expected to gain by 0, 1, ... of its trees; needs no data.

    A query reads next a tree of the class whose sum is furthest above this: one that can still win. A record of the
    winning class reaches leaves above the mean of a tree, the more likely the higher they are: so a tree is expected to
    add the mean of what its leaves are above their mean, weighted by their training records and by that height. The
    trees of a round, one per class, are averaged.

    Parameters
    ----------
    ensemble : TreeEnsemble
        Boosted, with trees for each class (`has_trees_per_class`).
    """
    tree = np.repeat(np.arange(ensemble.n_trees), np.diff(ensemble.first_node))
    value = ensemble.value[:, 0]
    above = np.maximum(value - value[ensemble.first_node[:-1]][tree], 0) * (ensemble.left < 0)
    total = np.bincount(tree, above * ensemble.cover, ensemble.n_trees)
    squares = np.bincount(tree, above**2 * ensemble.cover, ensemble.n_trees)
    gain = np.divide(squares, total, out=np.zeros(ensemble.n_trees), where=total > 0)
    trees = [np.flatnonzero(ensemble.output == output) for output in range(ensemble.n_outputs)]
    n_rounds = max(map(len, trees))
    by_round = [np.mean([gain[own[i]] for own in trees if i < len(own)]) for i in range(n_rounds)]
    return np.concatenate([[0.0], np.cumsum(by_round)])


def _group_trees(ensemble: TreeEnsemble) -> list[NDArray[np.int64]]:
    together = ensemble.n_outputs if has_trees_per_class(ensemble) else 1
    trees = np.arange(ensemble.n_trees)
    rounds = np.array_split(np.unique(trees // together), min(-(-ensemble.n_trees // together), MAX_GROUPS))
    return np.split(trees, [int(group[0]) * together for group in rounds[1:]])


def _sample(
    ensemble: TreeEnsemble, records: NDArray[np.float64], numbers: NDArray[np.int32], seed: int, work: int
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return a random sample of the records if there are more than the work and the memory allow."""
    n_records = int(np.clip(min(_MAX_WORK // work, _MAX_PAIRS // ensemble.n_trees), 50, _MAX_RECORDS))
    if len(records) <= n_records:
        return records, numbers
    chosen = np.random.default_rng(seed).permutation(len(records))[:n_records]
    return records[chosen], numbers[chosen]


def _order_averaged(
    ensemble: TreeEnsemble, leaves: NDArray[np.int64], numbers: NDArray[np.int32], groups: list[NDArray[np.int64]]
) -> list[int]:
    votes = np.array([ensemble.value[leaves[:, group], numbers[:, None]].sum(axis=1) for group in groups])
    weight = ensemble.value[ensemble.first_node[:-1]].sum(axis=1)
    weights = np.array([weight[group].sum() for group in groups])
    left, chosen = np.arange(len(groups)), []
    vote, total = np.zeros(len(numbers)), 0.0
    while len(left):
        share = (vote + votes[left]) / (total + weights[left])[:, None]
        loss = -np.log((share + SMOOTHING / len(ensemble.classes)) / (1 + SMOOTHING)).sum(axis=1)
        best = int(left[loss.argmin()])
        chosen.append(best)
        vote, total, left = vote + votes[best], total + weights[best], left[left != best]
    return chosen


def _order_added(
    ensemble: TreeEnsemble, leaves: NDArray[np.int64], numbers: NDArray[np.int32], groups: list[NDArray[np.int64]]
) -> list[int]:
    roots = ensemble.first_node[:-1]
    change = np.zeros((len(groups), len(numbers), ensemble.n_outputs))
    start = ensemble.base.copy()
    for i, group in enumerate(groups):
        for tree in group.tolist():
            output = int(ensemble.output[tree])
            to = slice(None) if output < 0 and ensemble.n_outputs > 1 else slice(max(output, 0), max(output, 0) + 1)
            change[i, :, to] += ensemble.value[leaves[:, tree]] - ensemble.value[roots[tree]]
            start[to] += ensemble.value[roots[tree]]
    left, chosen = np.arange(len(groups)), []
    scores = np.tile(start, (len(numbers), 1))
    rows = np.tile(np.arange(len(numbers)), len(groups))
    while len(left):
        candidates = (scores + change[left]) / ensemble.divisor
        proba = ensemble.link.probabilities(candidates.reshape(-1, ensemble.n_outputs))
        right = proba[np.arange(len(proba)), numbers[rows[: len(proba)]]] / proba.sum(axis=1)
        loss = -np.log(np.maximum(right, 1e-300)).reshape(len(left), -1).sum(axis=1)
        best = int(left[loss.argmin()])
        chosen.append(best)
        scores, left = scores + change[best], left[left != best]
    return chosen
