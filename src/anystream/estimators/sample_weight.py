"""Weights of training records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anystream.anytime.memory import free_bytes


def repeat_by_weight(records: Any, labels: NDArray[Any], sample_weight: ArrayLike | None) -> tuple[Any, NDArray[Any]]:
    """Return each record and its label as often as its weight says, in the same order; None stands for once.

    Parameters
    ----------
    records : array of shape (n_records, n_features) or list
        Validated records.
    labels : array of shape (n_records,)
        Their labels.
    sample_weight : array-like of shape (n_records,) or None
        Whole numbers from 0 on.

    Examples
    --------
    >>> records, labels = repeat_by_weight(["a", "b", "c"], np.array([1, 2, 3]), [2, 0, 1])
    >>> records, labels
    (['a', 'a', 'c'], array([1, 1, 3]))
    """
    if sample_weight is None:
        return records, labels
    copies = _check_weights(sample_weight, len(labels))
    if (copies == 1).all():
        return records, labels
    if isinstance(records, list):
        copied = [record for record, n in zip(records, copies.tolist(), strict=True) for _ in range(n)]
        return copied, labels.repeat(copies)
    _check_memory(records, int(copies.sum()))
    return records.repeat(copies, axis=0), labels.repeat(copies)


def _check_weights(sample_weight: ArrayLike, n_records: int) -> NDArray[np.int64]:
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight is {sample_weight!r:.80}; use one number per record") from None
    if weights.shape != (n_records,):
        raise ValueError(f"sample_weight has the shape {weights.shape}; use one number for each of {n_records} records")
    whole = (weights >= 0) & (weights == np.floor(weights)) & (weights < 2**62)
    if not whole.all():
        place = int(np.flatnonzero(~whole)[0])
        raise ValueError(
            f"sample_weight of record {place} is {weights[place]:g}; use whole numbers from 0 on, since a weight of w "
            "counts as w copies of the record: multiply fractions by a common denominator and round them"
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every record, which leaves none to learn; weigh one above 0")
    return np.asarray(weights.astype(np.int64))


def _check_memory(records: NDArray[np.float64], n_copies: int) -> None:
    needed, free = records.itemsize * records.shape[1] * n_copies, free_bytes()
    if needed > free / 2:
        raise ValueError(
            f"sample_weight sums up to {n_copies} records, {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB of memory "
            "are free; divide the weights by a common number"
        )
