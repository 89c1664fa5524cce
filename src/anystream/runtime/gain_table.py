"""How much better an answer is expected to get with more steps, by how sure it is already."""

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
_LEAST_RECORDS = 20  # a bin with fewer is estimated by its level as a whole


@dataclass(frozen=True, eq=False)
class GainTable:
    """A performance profile by confidence, measured on records that the model was not fitted on.

    Parameters
    ----------
    levels : tuple of int
        Ascending numbers of steps at which an answer is looked at.
    edges : array of shape (n_levels - 1, n_bins - 1)
        Confidences between the bins of each level.
    gains : array of shape (n_levels - 1, n_levels, n_bins)
        Expected rise of accuracy from one level to another, for an answer of that confidence; 0 where that is no rise.
    accuracy : array of shape (n_levels,)
        Expected accuracy at each level.
    """

    levels: tuple[int, ...]
    edges: NDArray[np.float64]
    gains: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @classmethod
    def measure(cls, model: Any, X: ArrayLike, y: ArrayLike, levels: Sequence[int] | None = None) -> GainTable:
        """Ask the model at every level and compare with the labels.

        Parameters
        ----------
        model : anytime classifier
            A fitted one.
        X, y : array-like
            Records that it was not fitted on, and their labels.
        levels : sequence of int, optional
            Ascending numbers of steps; by default `levels_up_to` the budget of the model.
        """
        steps = tuple(check_stages(levels_up_to(model.budget) if levels is None else levels).tolist())
        labels = np.asarray(y)
        if len(steps) < 2 or len(labels) < 1:
            raise ValueError("a gain table compares at least two levels on at least one record; give more")
        staged = list(model.staged_predict_proba(X, stages=list(steps)))
        right = np.array([model.classes_[proba.argmax(axis=1)] == labels for proba in staged], dtype=np.float64)
        edges = np.empty((len(steps) - 1, _BINS - 1))
        gains = np.zeros((len(steps) - 1, len(steps), _BINS))
        for level in range(len(steps) - 1):
            confidence = staged[level].max(axis=1)
            edges[level] = np.quantile(confidence, np.linspace(0.0, 1.0, _BINS + 1)[1:-1])
            places = np.searchsorted(edges[level], confidence, side="right")
            counts = np.bincount(places, minlength=_BINS)
            for next_ in range(level + 1, len(steps)):
                rise = right[next_] - right[level]
                sums = np.bincount(places, weights=rise, minlength=_BINS)
                mean = (sums + rise.mean() * _LEAST_RECORDS) / (counts + _LEAST_RECORDS)
                gains[level, next_] = np.maximum(mean, 0.0)
        return cls(steps, edges, gains, right.mean(axis=1))

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Every level with every higher one."""
        return np.triu_indices(len(self.levels), 1)

    def at(self, steps: float) -> float:
        """Expected accuracy after so many steps; between levels it rises with their logarithm."""
        return float(np.interp(np.log1p(steps), np.log1p(self.levels), self.accuracy))

    def promises(self, parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected accuracy for each pair, if all are asked at its first level and the part that gains most again."""
        tenths = np.clip(parts * _BINS, 0.0, _BINS)
        whole = np.minimum(tenths.astype(np.intp), _BINS - 1)
        every = np.arange(len(parts))
        below, above = self._ladders[every, whole], self._ladders[every, whole + 1]
        return np.asarray(below + (tenths - whole) * (above - below))

    @cached_property
    def _ladders(self) -> NDArray[np.float64]:
        """Expected accuracy for each pair if 0, 1, 2, ... bins are asked again; a bin holds as many as any other."""
        lower, higher = self.pairs
        rises = -np.sort(-self.gains[lower, higher], axis=1) / _BINS
        steps = np.concatenate([np.zeros((len(lower), 1)), np.cumsum(rises, axis=1)], axis=1)
        return np.asarray(self.accuracy[lower, np.newaxis] + steps)

    def gain(self, level: int, next_: int, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected rise of accuracy when answers of a level are asked again at a higher one."""
        return np.asarray(self.gains[level, next_][np.searchsorted(self.edges[level], confidence, side="right")])

    def to_json(self) -> dict[str, Any]:
        """The table as JSON holds it."""
        return {
            "levels": list(self.levels),
            "edges": self.edges.tolist(),
            "gains": self.gains.tolist(),
            "accuracy": self.accuracy.tolist(),
        }

    @classmethod
    def from_json(cls, value: Any) -> GainTable:
        """The table that `to_json` wrote."""
        try:
            levels = tuple(int(level) for level in value["levels"])
            edges, gains, accuracy = (
                np.array(value[name], dtype=np.float64) for name in ("edges", "gains", "accuracy")
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the performance profile cannot be read ({error}); fit the model again") from None
        n = len(levels) - 1
        if edges.shape != (n, _BINS - 1) or gains.shape != (n, n + 1, _BINS) or accuracy.shape != (n + 1,):
            raise ValueError("the performance profile has tables of the wrong size; fit the model again")
        return cls(levels, edges, gains, accuracy)


def levels_up_to(budget: int) -> tuple[int, ...]:
    """No steps, and then twice as many from level to level up to `budget`.

    Examples
    --------
    >>> levels_up_to(200), levels_up_to(30)
    ((0, 1, 3, 6, 12, 25, 50, 100, 200), (0, 1, 3, 7, 15, 30))
    """
    levels = [max(budget, 1)]
    while levels[-1] // _FACTOR >= 1:
        levels.append(levels[-1] // _FACTOR)
    return 0, *reversed(levels)
