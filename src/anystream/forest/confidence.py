"""Early stop with a stated rate of disagreement with all trees: a lead that is large enough, chosen on records.

After every whole tree the work ends if the first class leads by more than ``c * shape(n)``, where n is the number of
trees read. The lead of averaged votes that are drawn at random spreads like the square root of n; that of a boosted
ensemble matters less the less is left to read. The factor c is the smallest for which the records show that at most the
stated share of labels differs from those of all trees: from the largest factor downward, each must pass a test on the
binomial upper bound (Clopper and Pearson) of its share, and the first that fails ends the search, so that all tests
together err with a probability of at most `ERROR`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from anystream import _native
from anystream.forest.ensemble import TreeEnsemble

ERROR = 0.05
"""Probability that the rate of disagreement is higher than stated, over the choice of the records."""
_MIN_TREES = 3
_N_FACTORS = 60
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
    passed = np.inf
    for factor in np.geomspace(max(ratio[:, -2].max(), 1e-9), 1e-3 * max(ratio[:, -2].max(), 1e-9), _N_FACTORS):
        stop = np.minimum((ratio <= factor).sum(axis=1), len(shape) - 1)
        wrong = int((first[np.arange(len(first)), stop] != first[:, -1]).sum())
        if _upper_bound(wrong, len(first)) > 1 - confidence:
            break
        passed = float(factor)
    return np.asarray(np.where(np.isinf(shape), np.inf, passed * np.where(np.isinf(shape), 1, shape)))


def _shape(ensemble: TreeEnsemble) -> NDArray[np.float64]:
    n = np.arange(ensemble.n_trees + 1)
    if ensemble.link.kind == "mean":
        shape = np.sqrt(n) * ensemble.divisor / ensemble.n_trees
    else:
        shape = np.sqrt(1 - n / (ensemble.n_trees + 1))
    return np.where(n < _MIN_TREES, np.inf, shape)


def _upper_bound(wrong: int, n_records: int) -> float:
    return 1.0 if wrong == n_records else float(beta.ppf(1 - ERROR, wrong + 1, n_records - wrong))
