"""How much of the order is worth keeping: the noisy tail is found by internal cross-validation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 5
SHARES = np.array([0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0])

Evaluate = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]], NDArray[np.bool_]]


def share_to_keep(labels: NDArray[np.int32], evaluate: Evaluate, seed: int) -> float:
    """The share of the order after which held-out accuracy does not rise any more.

    Parameters
    ----------
    labels : array of shape (n_exemplars,)
        Class numbers.
    evaluate : callable
        Given training places, held-out places and shares: whether each held-out record is right when the order of the
        training places ends at each share; of shape (n_held_out, n_shares).
    seed : int
        For the folds.

    Returns
    -------
    float
        Of `SHARES`, the smallest within half a standard error of the best; 1.0 if trimming gains less than that.
    """
    n = len(labels)
    if n < 4 * N_FOLDS:
        return 1.0
    fold = np.random.default_rng(seed).permutation(n) % N_FOLDS
    right = np.vstack(
        [evaluate(np.flatnonzero(fold != held), np.flatnonzero(fold == held), SHARES) for held in range(N_FOLDS)]
    )
    accuracy = right.mean(axis=0)
    best = int(accuracy.argmax())
    gain = right[:, best].astype(np.float64) - right[:, -1]
    error = float(gain.std(ddof=1)) / np.sqrt(len(gain))
    if gain.mean() <= 0.5 * error:
        return 1.0
    return float(SHARES[best])
