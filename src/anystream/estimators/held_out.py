"""Held-out training records: how they are chosen, and the calibration that they give."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from anystream.estimators.calibration import Calibration, fit_calibration

MIN_RECORDS = 117
"""Minimum number of training records to hold some out: a quarter of them is about 30."""
MAX_HELD_OUT = 2000
"""Maximum number of records that a calibration is fitted to."""
_MAX_SCORES = 4_000_000  # records x stages x classes that are held at once

StagedProba = Callable[[NDArray[np.int64], NDArray[np.int64]], Iterable[NDArray[np.float64]]]
"""Given the held-out positions and the stages, the probabilities after each stage by a model of all other records."""


def split_in_quarters(
    records: NDArray[np.float64] | None, numbers: NDArray[np.int32], seed: int
) -> list[NDArray[np.int64]]:
    """Return the positions of four parts with equal shares of every class.

    Copies of a record that follow each other, as weights make them, stay in one part: a record must not be judged by
    its own copy.

    Parameters
    ----------
    records : array of shape (n_records, n_features) or None
        The records; None if they are not vectors, and copies are not looked for.
    numbers : array of shape (n_records,)
        Their class numbers.
    seed : int
        Seed of the order in each class.
    """
    starts = np.arange(len(numbers)) if records is None else _starts_of_runs(records, numbers)
    order = np.random.default_rng(seed).permutation(len(starts))
    by_class = order[np.argsort(numbers[starts][order], kind="stable")]
    parts = [np.random.default_rng(seed).permutation(by_class[part::4]) for part in range(4)]
    if len(starts) == len(numbers):
        return parts
    lengths = np.diff(starts, append=len(numbers))
    return [_positions(starts[part], lengths[part]) for part in parts]


def _positions(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions in runs of records, one run after the other."""
    begins = np.cumsum(lengths) - lengths
    return np.repeat(starts - begins, lengths) + np.arange(lengths.sum())


def _starts_of_runs(records: NDArray[np.float64], numbers: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return where a record differs from the one before."""
    before, after = records[:-1], records[1:]
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    differs = ~same.all(axis=1) | (numbers[:-1] != numbers[1:])
    return np.flatnonzero(np.concatenate([[True], differs]))


def calibrate_on_quarter(
    records: NDArray[np.float64] | None,
    numbers: NDArray[np.int32],
    seed: int,
    stages: NDArray[np.int64],
    staged_proba: StagedProba,
    max_held_out: int = MAX_HELD_OUT,
) -> Calibration | None:
    """Return the calibration on a quarter of the records, classified by a model of the others.

    None with one class, or with fewer than 117 records.

    Parameters
    ----------
    records, numbers, seed
        See `split_in_quarters`.
    stages : array of int
        Ascending numbers of steps.
    staged_proba : callable
        Classifies the held-out records.
    max_held_out : int, default=2000
        Maximum number of records to classify.
    """
    if len(numbers) < MIN_RECORDS or (numbers == numbers[0]).all():
        return None
    n_held_out = max(1, min(max_held_out, _MAX_SCORES // (len(stages) * (int(numbers.max()) + 1))))
    held_out = np.sort(split_in_quarters(records, numbers, seed)[0][:n_held_out])
    with np.errstate(divide="ignore"):
        log_scores = [np.log(proba) for proba in staged_proba(held_out, stages)]
    return fit_calibration(stages.tolist(), log_scores, numbers[held_out])
