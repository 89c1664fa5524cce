"""Trimming: how much of the order to keep, chosen by cross-validation on the training data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 5
SHARES = np.array([0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0])

Evaluate = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]], NDArray[np.bool_]]


def choose_share(labels: NDArray[np.int32], evaluate: Evaluate, seed: int) -> float:
    """Return the share of the order to keep: the most accurate one on held-out records, or 1.0 if it gains too little.

    Parameters
    ----------
    labels : array of shape (n_exemplars,)
        Class numbers.
    evaluate : callable
        Given training positions, held-out positions and shares: whether each held-out record is classified correctly
        when the order of the training positions ends at each share; of shape (n_held_out, n_shares).
    seed : int
        Seed for the folds.

    Returns
    -------
    float
        The share in `SHARES` with the highest accuracy on the held-out records of all folds, the smallest of equals.
        1.0 if its accuracy exceeds that of the whole order by at most half a standard error of the difference, or if
        there are fewer than 4 records per fold.
    """
    n = len(labels)
    if n < 4 * N_FOLDS:
        return 1.0
    fold = np.random.default_rng(seed).permutation(n) % N_FOLDS
    correct = np.vstack(
        [evaluate(np.flatnonzero(fold != held), np.flatnonzero(fold == held), SHARES) for held in range(N_FOLDS)]
    )
    best = int(correct.mean(axis=0).argmax())
    gain = correct[:, best].astype(np.float64) - correct[:, -1]
    standard_error = float(gain.std(ddof=1)) / np.sqrt(len(gain))
    return float(SHARES[best]) if gain.mean() > 0.5 * standard_error else 1.0
