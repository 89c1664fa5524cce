"""Large batches under a deadline, block by block: validating all records could take longer than the deadline."""

from __future__ import annotations

import time
from collections.abc import Sequence
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

    Records are validated when their turn comes. The arrays end with the last block that was reached, and no block is
    begun that would end after the deadline if it took as long as the last one beyond its share. Labels of records that
    were not reached are undefined.

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
    assert limits.until is not None
    n_records, overhead_s = len(X), 0.0
    labels: list[NDArray[Any]] = []
    results: list[BatchResult] = []
    for first in range(0, n_records, length):
        started = time.monotonic()
        if first > 0 and (started + overhead_s >= limits.until or limits.is_over()):
            break
        block = X[first : first + length]
        share = limits.share(len(block) / (n_records - first))
        result = BatchResult(*model.classify_records(model.validate_records(block), share))
        labels.append(most_probable(model.classes_, result.proba))
        results.append(result)
        assert share.until is not None
        overhead_s = max(0.0, time.monotonic() - share.until)
    return np.concatenate(labels), _join(results)


def _join(results: Sequence[BatchResult]) -> BatchResult:
    """Return the results of blocks as one."""
    reached = [np.ones(len(each.steps), np.bool_) if each.reached is None else each.reached for each in results]
    confident = [np.zeros(len(each.steps), np.bool_) if each.confident is None else each.confident for each in results]
    return BatchResult(
        np.concatenate([each.proba for each in results]),
        np.concatenate([each.steps for each in results]),
        np.concatenate([each.certified for each in results]),
        np.concatenate(reached),
        np.concatenate(confident),
    )
