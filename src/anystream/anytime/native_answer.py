"""The arrays that the native core fills with its answers to a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray


def answer_batch(
    n_records: int,
    n_classes: int,
    fill: Callable[[NDArray[np.float64], NDArray[np.int64], NDArray[np.uint8]], None],
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    """Probabilities, steps and certificates of a batch, as `fill` writes them."""
    proba = np.empty((n_records, n_classes))
    steps = np.empty(n_records, dtype=np.int64)
    certified = np.empty(n_records, dtype=np.uint8)
    fill(proba, steps, certified)
    return proba, steps, certified.astype(np.bool_)


def answer_in_stages(
    n_records: int, n_stages: int, n_classes: int, fill: Callable[[NDArray[np.float64]], None]
) -> Iterator[NDArray[np.float64]]:
    """Probabilities of a batch after each stage; `fill` writes those of a record one after another."""
    out = np.empty((n_records, n_stages, n_classes))
    fill(out.reshape(-1))
    for stage in range(n_stages):
        yield out[:, stage]
