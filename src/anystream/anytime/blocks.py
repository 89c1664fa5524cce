"""Large batches under a deadline, block by block: validating all records could take longer than the deadline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import BatchResult, most_probable
from anystream.anytime.budget import Budget

if TYPE_CHECKING:
    from anystream.anytime.classifier import AnytimeClassifier

_BLOCK_VALUES = 2**16  # validating so many takes some 50 microseconds
_MIN_RECORDS = 64


def block_length(X: Any) -> int | None:
    """Return the number of records per block; None if the records cannot be divided before they are validated."""
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return None
    return max(_MIN_RECORDS, _BLOCK_VALUES // max(1, int(X.shape[1])))


def classify_in_blocks(
    model: AnytimeClassifier, X: NDArray[Any], limits: Budget, length: int
) -> tuple[NDArray[Any], BatchResult]:
    """Return labels and results of records, block by block until a deadline; each gets its share of the time left.

    Records are validated when their turn comes. Labels that were not reached are undefined.

    Parameters
    ----------
    model : AnytimeClassifier
        A model that does not change meanwhile.
    X : array of shape (n_records, n_features)
        Records, not validated.
    limits : Budget
        Limits with an instant `until`.
    length : int
        Records per block.
    """
    n_records = len(X)
    proba = np.empty((n_records, len(model.classes_)))
    labels = np.empty(n_records, dtype=most_probable(model.classes_, proba[:0]).dtype)
    steps = np.zeros(n_records, dtype=np.int64)
    certified, reached, confident = (np.zeros(n_records, dtype=np.bool_) for _ in range(3))
    for first in range(0, n_records, length):
        rows = slice(first, min(first + length, n_records))
        if first > 0 and limits.is_over():
            break
        share = limits.share((rows.stop - first) / (n_records - first))
        result = BatchResult(*model.classify_records(model.validate_records(X[rows]), share))
        labels[rows] = most_probable(model.classes_, result.proba)
        proba[rows], steps[rows], certified[rows] = result[:3]
        reached[rows] = True if result.reached is None else result.reached
        confident[rows] = False if result.confident is None else result.confident
    return labels, BatchResult(proba, steps, certified, reached, confident)
