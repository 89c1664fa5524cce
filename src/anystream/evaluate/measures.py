"""How good answers were: shares of right ones, and how they compare with answers that need no learning.

All take the true labels and the predicted ones, in the order of the stream, and give one number (1 is perfect).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def accuracy(truth: ArrayLike, predicted: ArrayLike) -> float:
    """The share of right answers.

    Examples
    --------
    >>> accuracy([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """
    return float(_hits(truth, predicted).mean())


def windowed_accuracy(truth: ArrayLike, predicted: ArrayLike, window: int) -> NDArray[np.float64]:
    """After each record, the share of right answers among the last `window` records, fewer at the beginning.

    Examples
    --------
    >>> windowed_accuracy([0, 1, 1, 0], [0, 0, 1, 0], window=2)
    array([1. , 0.5, 0.5, 1. ])
    """
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1:
        raise ValueError(f"window is {window!r}; give a whole number of records from 1 on")
    hits = np.concatenate([[0], np.cumsum(_hits(truth, predicted))])
    last = np.arange(1, len(hits))
    first = np.maximum(0, last - window)
    return np.asarray((hits[last] - hits[first]) / (last - first))


def kappa(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Cohen's kappa: accuracy beyond that of chance with the same shares of classes, (p0 - pe) / (1 - pe).

    NaN if chance alone is always right: there is one class and nothing else is predicted.

    Examples
    --------
    >>> kappa([0, 1, 1, 0], [0, 1, 0, 0])
    0.5
    """
    true, said = _checked(truth, predicted)
    labels = set(true.tolist()) | set(said.tolist())
    by_chance = sum(float((true == label).mean() * (said == label).mean()) for label in labels)
    return _beyond(float((true == said).mean()), by_chance)


def kappa_m(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Accuracy beyond that of always naming the most frequent class, (p0 - pm) / (1 - pm).

    Below 0 a constant answer is better. It tells more than kappa where classes are uneven [1]_. NaN if there
    is one class.

    References
    ----------
    .. [1] Bifet, De Francisci Morales, Read, Holmes, Pfahringer, "Efficient online evaluation of big data stream
       classifiers", KDD 2015.

    Examples
    --------
    >>> round(kappa_m([0, 0, 0, 1], [0, 0, 0, 1]), 3), round(kappa_m([0, 0, 0, 1], [0, 0, 0, 0]), 3)
    (1.0, 0.0)
    """
    true, said = _checked(truth, predicted)
    majority = max(float((true == label).mean()) for label in set(true.tolist()))
    return _beyond(float((true == said).mean()), majority)


def kappa_t(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Accuracy beyond that of naming the previous record's true class, (p0 - pt) / (1 - pt).

    Below 0 repeating the last label is better, as it often is where neighbouring labels agree [1]_. The first record
    has no predecessor and is left out of both shares. NaN if all labels are equal.

    References
    ----------
    .. [1] Žliobaitė, Bifet, Read, Pfahringer, Holmes, "Evaluation methods and decision theory for classification of
       streaming data with temporal dependence", Machine Learning 98, 2015.

    Examples
    --------
    >>> kappa_t([0, 0, 1, 1, 0], [0, 0, 1, 1, 1])
    0.5
    """
    true, said = _checked(truth, predicted)
    if len(true) < 2:
        return math.nan
    return _beyond(float((true[1:] == said[1:]).mean()), float((true[1:] == true[:-1]).mean()))


def _beyond(reached: float, baseline: float) -> float:
    return math.nan if baseline >= 1.0 - 1e-12 else (reached - baseline) / (1.0 - baseline)


def _hits(truth: ArrayLike, predicted: ArrayLike) -> NDArray[np.bool_]:
    true, said = _checked(truth, predicted)
    return np.asarray(true == said)


def _checked(truth: ArrayLike, predicted: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    true, said = np.asarray(truth), np.asarray(predicted)
    if true.ndim != 1 or true.shape != said.shape:
        raise ValueError(f"there are labels of shape {true.shape} and answers of shape {said.shape}; give one to each")
    if len(true) == 0:
        raise ValueError("there are no answers to judge; give at least one")
    return true, said
