"""Search for the splits of a set of records whose information gain exceeds their cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream import _native


class FoundSplit(NamedTuple):
    """A test of one feature.

    Parameters
    ----------
    gain : float
        Information gain in nats, summed over the records of the node.
    feature : int
        Feature to compare.
    threshold : float
        Values up to this go left.
    left, right : int
        Children, whose numbers are higher than their parent's.
    """

    gain: float
    feature: int
    threshold: float
    left: int
    right: int


class FoundTree(NamedTuple):
    """A tree of splits; node 0 has all records.

    Parameters
    ----------
    splits : dict of FoundSplit
        The splits by the numbers of their nodes, which ascend.
    rows : list of arrays
        Rows of the records of each node, ascending.
    """

    splits: dict[int, FoundSplit]
    rows: list[NDArray[np.int64]]


def grow_splits(
    records: NDArray[np.float64],
    labels: NDArray[np.int32],
    *,
    min_side: int,
    min_records: int,
    n_features: int,
    min_gain: float,
) -> FoundTree:
    """Return the splits of highest information gain, node by node, as long as they pay.

    Parameters
    ----------
    records : array of shape (n_records, n_columns)
        Missing values (NaN) go right.
    labels : array of shape (n_records,)
        Class numbers. Records of one class are not split.
    min_side : int
        Minimum number of records on either side.
    min_records : int
        Fewer records are not split.
    n_features : int
        Features of the model, d.
    min_gain : float
        A node of n records is split if gain > log(d (n - 1)) + `min_gain`.
    """
    feature, threshold, gain, left, right, begin, end, order = _native.grow_splits(
        records, labels, min_side, min_records, n_features, min_gain
    )
    fields = zip(gain.tolist(), feature.tolist(), threshold.tolist(), left.tolist(), right.tolist(), strict=True)
    splits = {i: FoundSplit(*values) for i, values in enumerate(fields) if values[1] >= 0}
    rows = [order[a:b] for a, b in zip(begin.tolist(), end.tolist(), strict=True)]
    for split in splits:
        rows[split] = np.sort(rows[split])  # so far leaf by leaf
    return FoundTree(splits, rows)
