"""Large batches under a deadline, block by block: validating all records could take longer than the deadline."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import BatchResult, Rows, most_probable
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


def classify_in_blocks(model: AnytimeClassifier, X: NDArray[Any], limits: Budget, length: int) -> list[Rows]:
    """Return the rows of records, block by block until a deadline; each block gets its share of the time left.

    Records are validated when their turn comes. No block is begun that would end after the deadline if it took as long
    as the last one beyond its share; so the last records may have no rows. Labels of records that were not reached are
    undefined.

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
    blocks: list[Rows] = []
    for first in range(0, n_records, length):
        if first > 0 and limits.ends_within(overhead_s):
            break
        block = X[first : first + length]
        share = limits.share(len(block) / (n_records - first))
        records = model.validate_records(block)
        if first > 0 and limits.ends_within(overhead_s):
            break
        result = BatchResult(*model.classify_records(records, share))
        blocks.append(Rows(most_probable(model.classes_, result.proba), *result))
        assert share.until is not None
        overhead_s = max(0.0, time.monotonic() - share.until)
    return blocks
