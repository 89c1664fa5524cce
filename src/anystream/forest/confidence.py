"""Early stop with a stated rate of disagreement with all trees: a lead that is large enough, chosen on records.

After every whole tree the work ends if the first class leads by more than ``c * shape(n)``, where n is the number of
trees read. Averaged trees are like draws from one distribution: with n of N read, the final lead is N / n times the
present one, give or take a deviation in proportion to sqrt((N - n) N / n); that is as likely to turn the lead after
every n if the shape is sqrt(n (1 - n / N)). The trees of a boosted ensemble add less and less: (1 - n / N)**2. Its
exponent is a compromise: 4 ended earlier on letter and covtype and later on pendigits, 1 and 1/2 the other way round.

The factor c is the smallest for which the records show that at most the stated share of labels differs from those of
all trees: from the largest factor downward, each must pass a test on the binomial upper bound (Clopper and Pearson) of
its share, and the first that fails ends the search, so that all tests together err with a probability of at most
`ERROR`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.forest.ensemble import TreeEnsemble

ERROR = 0.05
"""Probability that the rate of disagreement is higher than stated, over the choice of the records."""
_MIN_TREES = 3
_STEP = 2 ** (1 / 16)  # from one factor to the next
_MAX_STEPS = 640  # 40 times half
_MAX_RECORDS = 20_000
_MAX_PAIRS = 40_000_000  # of record and number of trees in memory


def min_records(confidence: float) -> int:
    """Return the number of records that it takes to show a rate of disagreement if none of them disagrees."""
    return math.ceil(math.log(ERROR) / math.log(confidence))


def check_record_count(confidence: float, n_records: int) -> None:
    """Raise ValueError if there are too few records to show this rate."""
    if n_records < min_records(confidence):
        raise ValueError(
            f"confidence={confidence:g} needs {min_records(confidence):,} records that the trees did not learn from, "
            f"there are {n_records:,}; pass more of them or a lower confidence"
        )


def choose_stop_margins(
    forest: _native.DecisionForest,
    ensemble: TreeEnsemble,
    records: NDArray[np.float64],
    confidence: float,
    seed: int = 0,
    threads: int = 0,
) -> NDArray[np.float64]:
    """Return the lead after 0, 1, ... trees above which the work ends; infinite where it does not.

    Parameters
    ----------
    forest : DecisionForest
        The ensemble in the order in which it will be read, whole trees.
    ensemble : TreeEnsemble
        The same.
    records : array of shape (n_records, n_features)
        Records that the ensemble was not trained on; their labels are not needed.
    confidence : float
        Share of the answers that must agree with all trees.
    seed : int
        Of the sample, if there are many records.
    threads : int
        0 is one per core.
    """
    shape = _shape(ensemble)
    if (ensemble.left[ensemble.first_node[:-1]] < 0).all():
        return np.full(len(shape), np.inf)
    n_records = min(_MAX_RECORDS, max(_MAX_PAIRS // len(shape), min_records(confidence)))
    if len(records) > n_records:
        records = records[np.random.default_rng(seed).permutation(len(records))[:n_records]]
    check_record_count(confidence, len(records))
    lead = np.empty((len(records), len(shape)))
    first = np.empty((len(records), len(shape)), np.int32)
    forest.trace_leads(records, threads, lead, first)
    ratio = np.maximum.accumulate(lead / shape, axis=1)
    return shape * _smallest_factor(ratio[:, :-1], first, confidence)


def _smallest_factor(ratio: NDArray[np.float64], first: NDArray[np.int32], confidence: float) -> float:
    """Return the smallest factor at which enough labels agree, of the powers of `_STEP`, which do not depend on data.

    Parameters
    ----------
    ratio : array of shape (n_records, n_trees)
        Largest lead so far in units of the shape, after 0, 1, ... trees.
    first : array of shape (n_records, n_trees + 1)
        The leading class, also after the last tree.
    confidence : float
        Share of the answers that must agree with all trees.
    """
    rows = np.arange(len(ratio))
    n_read = np.full(len(ratio), ratio.shape[1])
    largest = ratio[:, -1].max()
    if largest <= 0.0:
        return math.inf
    passed = math.inf
    top = math.ceil(math.log(largest, _STEP))
    for power in range(top, top - _MAX_STEPS, -1):
        factor = _STEP**power
        while (stops := (n_read > 0) & (ratio[rows, np.maximum(n_read - 1, 0)] > factor)).any():
            n_read[stops] -= 1
        wrong = int((first[rows, n_read] != first[:, -1]).sum())
        if _upper_bound(wrong, len(first)) > 1 - confidence:
            break
        passed = factor
    return passed


def _shape(ensemble: TreeEnsemble) -> NDArray[np.float64]:
    n = np.arange(ensemble.n_trees + 1)
    unread = 1 - n / (ensemble.n_trees + 1)  # above 0 also after the last tree
    shape = np.sqrt(n * unread) if ensemble.link.kind == "mean" else unread**2
    return np.where(n < _MIN_TREES, np.inf, shape)


def _upper_bound(wrong: int, n_records: int) -> float:
    from scipy.special import betaincinv  # imported here because it is slow to import

    return 1.0 if wrong == n_records else float(betaincinv(wrong + 1, n_records - wrong, 1 - ERROR))
