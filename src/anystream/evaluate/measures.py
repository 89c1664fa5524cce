"""Measures of predictions: accuracy, and accuracy relative to baselines that need no learning.

All functions take the true and the predicted labels in the order of the stream. The value of a perfect classifier is 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anystream.streams.parameters import check_int


def accuracy(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the share of correct predictions.

    Examples
    --------
    >>> accuracy([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """
    return float(_correct(truth, predicted).mean())


def windowed_accuracy(truth: ArrayLike, predicted: ArrayLike, window: int) -> NDArray[np.float64]:
    """Return, after each record, the share of correct predictions among the last `window` records or all so far.

    Examples
    --------
    >>> windowed_accuracy([0, 1, 1, 0], [0, 0, 1, 0], window=2)
    array([1. , 0.5, 0.5, 1. ])
    """
    size = check_int("window", window, min_value=1)
    n_correct = np.concatenate([[0], np.cumsum(_correct(truth, predicted))])
    end = np.arange(1, len(n_correct))
    start = np.maximum(0, end - size)
    return np.asarray((n_correct[end] - n_correct[start]) / (end - start))


def kappa(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return Cohen's kappa: accuracy relative to chance with the same shares of classes, (p0 - pe) / (1 - pe).

    NaN if chance is always correct: there is one class and nothing else is predicted.

    Examples
    --------
    >>> kappa([0, 1, 1, 0], [0, 1, 0, 0])
    0.5
    """
    true, guess = _check_labels(truth, predicted)
    labels = set(true.tolist()) | set(guess.tolist())
    chance = sum(float((true == label).mean() * (guess == label).mean()) for label in labels)
    return _relative(float((true == guess).mean()), chance)


def kappa_m(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the accuracy relative to always predicting the most frequent class, (p0 - pm) / (1 - pm).

    Below 0 a constant prediction is better. More informative than kappa if classes are imbalanced [1]_. NaN if there is
    one class.

    References
    ----------
    .. [1] Bifet, De Francisci Morales, Read, Holmes, Pfahringer, "Efficient online evaluation of big data stream
       classifiers", KDD 2015.

    Examples
    --------
    >>> round(kappa_m([0, 0, 0, 1], [0, 0, 0, 1]), 3), round(kappa_m([0, 0, 0, 1], [0, 0, 0, 0]), 3)
    (1.0, 0.0)
    """
    true, guess = _check_labels(truth, predicted)
    majority = max(float((true == label).mean()) for label in set(true.tolist()))
    return _relative(float((true == guess).mean()), majority)


def kappa_t(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the accuracy relative to predicting the previous record's true class, (p0 - pt) / (1 - pt).

    Below 0 repeating the last label is better, as is often the case if consecutive labels agree [1]_. The first record
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
    true, guess = _check_labels(truth, predicted)
    if len(true) < 2:
        return math.nan
    return _relative(float((true[1:] == guess[1:]).mean()), float((true[1:] == true[:-1]).mean()))


def _relative(reached: float, baseline: float) -> float:
    """Return the gain over a baseline as a share of the possible gain; NaN if there is none."""
    return math.nan if baseline >= 1.0 - 1e-12 else (reached - baseline) / (1.0 - baseline)


def _correct(truth: ArrayLike, predicted: ArrayLike) -> NDArray[np.bool_]:
    true, guess = _check_labels(truth, predicted)
    return np.asarray(true == guess)


def _check_labels(truth: ArrayLike, predicted: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    true, guess = np.asarray(truth), np.asarray(predicted)
    if true.ndim != 1 or true.shape != guess.shape:
        raise ValueError(
            f"true labels have the shape {true.shape} and predictions {guess.shape}; give one prediction per label"
        )
    if len(true) == 0:
        raise ValueError("there are no predictions; give at least one")
    return true, guess
