"""Gain table: the expected rise of accuracy with more steps, by the confidence of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anystream.anytime.stages import check_stages

_BINS = 10
_FACTOR = 2  # from one level to the next
_MIN_RECORDS = 20  # the estimate of a bin with fewer is dominated by the mean of its level


@dataclass(frozen=True, eq=False)
class GainTable:
    """Expected gains by level and confidence, measured on records that the model was not fitted on.

    Parameters
    ----------
    levels : tuple of int
        Ascending numbers of steps at which answers are compared.
    edges : array of shape (n_levels - 1, n_bins - 1)
        Confidences between the bins of each level.
    gains : array of shape (n_levels - 1, n_levels, n_bins)
        Expected rise of accuracy from one level to a higher one, for an answer of that confidence; 0 for all other
        pairs.
    accuracy : array of shape (n_levels,)
        Expected accuracy at each level.
    """

    levels: tuple[int, ...]
    edges: NDArray[np.float64]
    gains: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @classmethod
    def measure(cls, model: Any, X: ArrayLike, y: ArrayLike, levels: Sequence[int] | None = None) -> GainTable:
        """Classify records at every level and compare with their labels.

        Parameters
        ----------
        model : anytime classifier
            A fitted one.
        X, y : array-like
            Records that it was not fitted on, and their labels.
        levels : sequence of int, optional
            Ascending numbers of steps; by default `choose_levels` up to the budget of the model.
        """
        steps = tuple(check_stages(choose_levels(model.budget) if levels is None else levels).tolist())
        labels = np.asarray(y)
        if len(steps) < 2 or len(labels) < 1:
            raise ValueError(
                f"there are {len(steps)} levels and {len(labels)} records; a gain table needs 2 or more levels and "
                "1 or more records"
            )
        staged = list(model.staged_predict_proba(X, stages=list(steps)))
        right = np.array([model.classes_[proba.argmax(axis=1)] == labels for proba in staged], dtype=np.float64)
        edges = np.empty((len(steps) - 1, _BINS - 1))
        gains = np.zeros((len(steps) - 1, len(steps), _BINS))
        for level in range(len(steps) - 1):
            confidence = staged[level].max(axis=1)
            edges[level] = np.quantile(confidence, np.linspace(0.0, 1.0, _BINS + 1)[1:-1])
            bins = np.searchsorted(edges[level], confidence, side="right")
            counts = np.bincount(bins, minlength=_BINS)
            for next_level in range(level + 1, len(steps)):
                rise = right[next_level] - right[level]
                sums = np.bincount(bins, weights=rise, minlength=_BINS)
                mean = (sums + rise.mean() * _MIN_RECORDS) / (counts + _MIN_RECORDS)
                gains[level, next_level] = np.maximum(mean, 0.0)
        return cls(steps, edges, gains, right.mean(axis=1))

    @cached_property
    def level_pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Every level with every higher one."""
        return np.triu_indices(len(self.levels), 1)

    def accuracy_at(self, steps: float) -> float:
        """Return the expected accuracy after `steps` steps; between levels it rises with the logarithm of the steps."""
        return float(np.interp(np.log1p(steps), np.log1p(self.levels), self.accuracy))

    def expected_accuracy(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected accuracy for each level pair with two rounds.

        All records are classified at the lower level; the given share of them, those that gain most, again at the
        higher.
        """
        bins = np.clip(shares * _BINS, 0.0, _BINS)
        whole = np.minimum(bins.astype(np.intp), _BINS - 1)
        pairs = np.arange(len(shares))
        below, above = self._accuracy_by_bins[pairs, whole], self._accuracy_by_bins[pairs, whole + 1]
        return np.asarray(below + (bins - whole) * (above - below))

    @cached_property
    def _accuracy_by_bins(self) -> NDArray[np.float64]:
        """Expected accuracy for each level pair if 0, 1, 2, ... bins get a second round; all bins are equally large."""
        lower, higher = self.level_pairs
        rises = -np.sort(-self.gains[lower, higher], axis=1) / _BINS
        sums = np.concatenate([np.zeros((len(lower), 1)), np.cumsum(rises, axis=1)], axis=1)
        return np.asarray(self.accuracy[lower, np.newaxis] + sums)

    def expected_gain(self, level: int, next_level: int, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected rise of accuracy if answers of a level are computed again at a higher one."""
        return np.asarray(self.gains[level, next_level][np.searchsorted(self.edges[level], confidence, side="right")])

    def to_json(self) -> dict[str, Any]:
        """Return the table as JSON can hold it."""
        return {
            "levels": list(self.levels),
            "edges": self.edges.tolist(),
            "gains": self.gains.tolist(),
            "accuracy": self.accuracy.tolist(),
        }

    @classmethod
    def from_json(cls, value: Any) -> GainTable:
        """Return the table that `to_json` wrote."""
        try:
            levels = tuple(int(level) for level in value["levels"])
            edges, gains, accuracy = (
                np.array(value[name], dtype=np.float64) for name in ("edges", "gains", "accuracy")
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the gain table cannot be read ({error}); fit the model again") from None
        n = len(levels) - 1
        if edges.shape != (n, _BINS - 1) or gains.shape != (n, n + 1, _BINS) or accuracy.shape != (n + 1,):
            raise ValueError(f"the gain table has {n + 1} levels and arrays of another size; fit the model again")
        return cls(levels, edges, gains, accuracy)


def choose_levels(max_steps: int) -> tuple[int, ...]:
    """Return 0 and then twice as many steps from level to level, up to `max_steps`.

    Examples
    --------
    >>> choose_levels(200), choose_levels(30)
    ((0, 1, 3, 6, 12, 25, 50, 100, 200), (0, 1, 3, 7, 15, 30))
    """
    levels = [max(max_steps, 1)]
    while levels[-1] // _FACTOR >= 1:
        levels.append(levels[-1] // _FACTOR)
    return 0, *reversed(levels)
