"""Output arrays that the native core fills for a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import BatchResult

_FALSE_OR_TRUE = (np.zeros(1, np.bool_), np.ones(1, np.bool_))


def fill_batch(
    n_records: int,
    n_classes: int,
    fill: Callable[[NDArray[np.float64], NDArray[np.int64], NDArray[np.uint8]], None],
) -> BatchResult:
    """Allocate the arrays of a batch, let `fill` write probabilities, steps and marks, and return them.

    A mark is 0 where the limits ended the call before the record, else 2, and 1 more if the answer is certified, or 4
    more if a test of the model ended its work.
    """
    proba = np.empty((n_records, n_classes))
    steps = np.zeros(n_records, dtype=np.int64)
    marks = np.zeros(n_records, dtype=np.uint8)
    fill(proba, steps, marks)
    if n_records == 1:  # a number instead of arrays: each operation on one takes as long as some hundred steps
        mark = marks.item()
        confident = _FALSE_OR_TRUE[1].copy() if mark & 4 else None
        reached = None if mark > 1 else _FALSE_OR_TRUE[0].copy()
        return BatchResult(proba, steps, _FALSE_OR_TRUE[mark & 1].copy(), reached, confident)
    confident = (marks & 4) != 0
    return BatchResult(proba, steps, (marks & 1).view(np.bool_), marks > 1, confident if confident.any() else None)


def fill_stages(
    n_records: int, n_stages: int, n_classes: int, fill: Callable[[NDArray[np.float64]], None]
) -> Iterator[NDArray[np.float64]]:
    """Let `fill` write the probabilities of all stages, laid out (record, stage, class), and yield those of each."""
    out = np.empty((n_records, n_stages, n_classes))
    fill(out.reshape(-1))
    for stage in range(n_stages):
        yield out[:, stage]
