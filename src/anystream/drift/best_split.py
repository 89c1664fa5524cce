"""Search for the split of highest information gain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream import _native


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
    found = SplitCandidate(*_native.best_split(records, labels, min_records))
    return None if found.feature < 0 else found
