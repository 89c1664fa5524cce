"""Output arrays that the native core fills for a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import BatchResult


def fill_batch(
    n_records: int,
    n_classes: int,
    fill: Callable[[NDArray[np.float64], NDArray[np.int64], NDArray[np.uint8]], None],
) -> BatchResult:
    """Allocate the arrays of a batch, let `fill` write probabilities, steps and certificates, and return them."""
    proba = np.empty((n_records, n_classes))
    steps = np.empty(n_records, dtype=np.int64)
    certified = np.empty(n_records, dtype=np.uint8)
    fill(proba, steps, certified)
    return BatchResult(proba, steps, certified.view(np.bool_))


def fill_stages(
    n_records: int, n_stages: int, n_classes: int, fill: Callable[[NDArray[np.float64]], None]
) -> Iterator[NDArray[np.float64]]:
    """Let `fill` write the probabilities of all stages, laid out (record, stage, class), and yield those of each."""
    out = np.empty((n_records, n_stages, n_classes))
    fill(out.reshape(-1))
    for stage in range(n_stages):
        yield out[:, stage]
