"""Search for the split of highest information gain."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class SplitCandidate(NamedTuple):
    """A test of one feature.

    Parameters
    ----------
    gain : float
        Information gain in nats, summed over all records.
    feature : int
        Feature to compare.
    threshold : float
        Values up to this go left.
    """

    gain: float
    feature: int
    threshold: float


def best_split(records: NDArray[np.float64], labels: NDArray[np.int32], min_records: int) -> SplitCandidate | None:
    """Return the split of highest information gain, or None if there is no valid one.

    Parameters
    ----------
    records : array of shape (n_records, n_features)
        Missing values (NaN) go right.
    labels : array of shape (n_records,)
        Class numbers.
    min_records : int
        Minimum number of records on either side.
    """
    n = len(labels)
    if n < 2:
        return None
    present, numbers = np.unique(labels, return_inverse=True)  # of many classes, few have records here
    one_hot = np.eye(len(present))[numbers]
    whole = one_hot.sum(axis=0)
    order = np.argsort(records, axis=0, kind="stable")  # missing values last
    values = np.take_along_axis(records, order, axis=0)
    left = np.cumsum(one_hot[order], axis=0)[:-1]  # (cuts, features, classes)
    n_left = np.arange(1.0, n)[:, np.newaxis]
    gain = _entropy(whole, np.float64(n)) - _entropy(left, n_left) - _entropy(whole - left, n - n_left)
    valid = values[1:] > values[:-1]  # False next to a missing value
    valid[: min_records - 1] = False
    valid[n - min_records :] = False
    gain[~valid] = -math.inf
    cut, feature = np.unravel_index(int(gain.argmax()), gain.shape)
    if gain[cut, feature] == -math.inf:
        return None
    low, high = values[cut, feature], values[cut + 1, feature]
    middle = low + (high - low) / 2
    return SplitCandidate(float(gain[cut, feature]), int(feature), float(middle if middle < high else low))


def _entropy(counts: NDArray[np.float64], n: NDArray[np.float64] | np.float64) -> NDArray[np.float64]:
    """Return n times the entropy of class counts, in nats."""
    logs = np.log(np.maximum(counts, 1.0))
    return np.asarray(n * np.log(n) - (counts * logs).sum(axis=-1))
