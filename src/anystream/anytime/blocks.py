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
_HELD_UP_S = 2e-4  # a block that takes so much longer beyond its share than expected was held up


def block_length(X: Any) -> int | None:
    """Return the number of records per block; None if the records cannot be divided before they are validated."""
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return None
    return max(_MIN_RECORDS, _BLOCK_VALUES // max(1, int(X.shape[1])))


def classify_in_blocks(model: AnytimeClassifier, X: NDArray[Any], limits: Budget, length: int) -> list[Rows]:
    """Return the rows of records, block by block until a deadline; each block gets its share of the time left.

    Records are validated when their turn comes. No block is begun that would end after the deadline if it took as long
    beyond its share as the last two did; so the last records may have no rows. If something holds up a block so that it
    does not reach all of its records, these have another turn. Labels of records that were not reached are undefined.

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
    n_records = len(X)
    blocks: list[Rows] = []
    overheads_s: list[float] = []  # beyond the shares of the blocks
    expected_s = 0.0
    for first in range(0, n_records, length):
        if first > 0 and limits.ends_within(expected_s):
            break
        started = time.monotonic()
        block = X[first : first + length]
        share = limits.share(len(block) / (n_records - first))
        records = model.validate_records(block)
        if first > 0 and limits.ends_within(expected_s):
            break
        rows = _classify(model, records, share)
        assert share.until is not None
        ended = time.monotonic()
        overheads_s.append(max(0.0, ended - share.until))
        held_up = overheads_s[-1] > expected_s + _HELD_UP_S and not limits.ends_within(2 * (ended - started))
        if held_up and rows.reached is not None and not rows.reached.all():
            missed = np.flatnonzero(~rows.reached)
            share = limits.share(len(missed) / (n_records - first))
            rows = _replace(rows, missed, _classify(model, records[missed], share))
        blocks.append(rows)
        expected_s = min(overheads_s[-2:])  # what holds up one block need not hold up the next
    return blocks


def _classify(model: AnytimeClassifier, records: NDArray[np.float64], limits: Budget) -> Rows:
    result = BatchResult(*model.classify_records(records, limits))
    return Rows(most_probable(model.classes_, result.proba), *result)


def _replace(rows: Rows, places: NDArray[np.intp], others: Rows) -> Rows:
    """Return rows of which those at some places are replaced."""

    def replaced(name: str, default: bool = False) -> Any:
        array, values = getattr(rows, name), getattr(others, name)
        array = np.full(len(rows.labels), default) if array is None else array.copy()
        array[places] = default if values is None else values
        return array

    return Rows(*(replaced(name, default=name == "reached") for name in Rows._fields))
