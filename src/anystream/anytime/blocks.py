"""Large batches under a deadline, block by block: validating all records could take longer than the deadline."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import BatchResult, Rows, most_probable
from anystream.anytime.budget import Budget

if TYPE_CHECKING:
    from anystream.anytime.classifier import AnytimeClassifier

_BLOCK_VALUES = 2**16  # for one thread; validating so many takes 20 to 50 microseconds
_MIN_RECORDS = 64
_FIRST_OVERHEAD_S = 1e-4  # assumed before a block was measured
_SPARE = 1.5  # a block may take so much longer after its share than others: one in a hundred takes twice as long
_MIN_SHARE_S = 2e-4  # of a block, more if it is larger: it costs some 100 microseconds beside, however few it reaches


def block_length(X: Any, n_jobs: int | None) -> int | None:
    """Return the number of records per block; None if the records cannot be divided before they are validated.

    With more than one thread it is twice as many: it takes one of them some 30 microseconds to begin.
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return None
    n_threads = os.cpu_count() if n_jobs in (None, -1) else n_jobs
    values = _BLOCK_VALUES if n_threads == 1 else 2 * _BLOCK_VALUES
    return max(_MIN_RECORDS, values // max(1, int(X.shape[1])))


def classify_in_blocks(model: AnytimeClassifier, X: NDArray[Any], limits: Budget, length: int) -> list[Rows]:
    """Return the rows of records, block by block until a deadline; each block gets its share of the time left.

    Records are validated when their turn comes. A share is never shorter than a block is worth, so with too little time
    for all records the first ones are reached. No block is begun that would end after the deadline if it took half as
    long again beyond its share as two of the last three did (as long at all as the shorter of the last two, unless both
    were stopped by the end of theirs); so the last records may have no rows. A block ends behind its last record that
    was reached; the next one begins there, and is shorter if that was early. Records before it that were not reached,
    because something held up one thread, have another turn. Labels of records that were not reached are undefined.

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
    n_records, first, size = len(X), 0, length
    min_share_s = _MIN_SHARE_S * max(1.0, length * X.shape[1] / _BLOCK_VALUES)
    blocks: list[Rows] = []
    stopped: list[bool] = []  # whether a block used all of its share
    overheads_s: list[float] = []  # what it took beyond it, and half as much again; one that was not stopped, at all
    expected_s = _FIRST_OVERHEAD_S
    while first < n_records:
        if first > 0 and limits.ends_within(expected_s):
            break
        started = time.monotonic()
        block = X[first : first + size]
        share = _share(limits, len(block) / (n_records - first), min_share_s, expected_s)
        records = model.validate_records(block)
        if first > 0 and limits.ends_within(expected_s):
            break
        rows = _until_last_reached(_classify(model, records, share))
        assert share.until is not None
        ended = time.monotonic()
        stopped.append(ended > share.until or _ends_with_share(rows, share.until - started, share.until - ended))
        beyond_s = _SPARE * (ended - share.until) if ended > share.until else _FIRST_OVERHEAD_S
        overheads_s.append(beyond_s if stopped[-1] else ended - started)
        missed = _find_missed(rows)
        if len(missed) > 0 and not limits.ends_within(2 * (ended - started)):
            share = _share(limits, len(missed) / (n_records - first), min_share_s, expected_s)
            rows = _replace(rows, missed, _classify(model, records[missed], share))
        blocks.append(rows)
        n_read = len(rows.labels)
        first += n_read
        size = min(length, max(_MIN_RECORDS, 2 * n_read))
        # What holds up one block need not hold up the next.
        expected_s = sorted(overheads_s[-3:])[-2:][0] if all(stopped[-2:]) else min(overheads_s[-2:])
    return blocks


def _share(limits: Budget, part: float, min_s: float, overhead_s: float) -> Budget:
    """Return the budget of a part of the work, at least `min_s` if that is left, and time for what comes after."""
    assert limits.until is not None
    left_s = limits.until - time.monotonic()
    share_s = min(max(part * left_s, min_s), left_s - overhead_s)
    return limits.share(max(0.0, share_s / left_s) if left_s > 0.0 else 1.0)


def _ends_with_share(rows: Rows, share_s: float, early_s: float) -> bool:
    """Return whether a block that ended so early was stopped by its share: time is reserved for writing answers."""
    return early_s < share_s / 10 and not rows.certified.all()


def _until_last_reached(rows: Rows) -> Rows:
    """Return the rows up to the last record that was reached; all of them if there is none."""
    if rows.reached is None or rows.reached[-1] or not rows.reached.any():
        return rows
    n_read = len(rows.labels) - int(rows.reached[::-1].argmax())
    confident = None if rows.confident is None else rows.confident[:n_read]
    labels, proba, steps, certified = rows.labels, rows.proba, rows.steps, rows.certified
    return Rows(labels[:n_read], proba[:n_read], steps[:n_read], certified[:n_read], rows.reached[:n_read], confident)


def _find_missed(rows: Rows) -> NDArray[np.intp]:
    return np.empty(0, np.intp) if rows.reached is None else np.flatnonzero(~rows.reached)


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
