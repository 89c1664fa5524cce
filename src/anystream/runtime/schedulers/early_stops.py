"""Statistics of answers that stop early because no further step can change them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer

_MAX_ANSWERS = 512  # number of latest answers in the statistics


class EarlyStops:
    """The number of steps after which each of the latest answers was certified, infinite for the others.

    With T the steps after which an answer is certified, a maximum of n steps costs f(n) = mean(min(T, n)) steps on
    average. Answers that stop early leave steps for the others: `max_steps_for` inverts f.
    """

    def __init__(self) -> None:
        self._stops: NDArray[np.float64] = np.empty(0)

    def observe(self, answer: Answer) -> None:
        """Add the answers of a batch."""
        stops = np.where(answer.settled, answer.steps, np.inf)[-_MAX_ANSWERS:]
        kept = self._stops[len(stops) - _MAX_ANSWERS :] if len(stops) < _MAX_ANSWERS else stops[:0]
        self._stops = np.concatenate([kept, stops])

    def max_steps_for(self, mean_steps: float) -> float:
        """Return the maximum that costs `mean_steps` per record on average; infinite if no limit costs less.

        Examples
        --------
        >>> stops = EarlyStops()
        >>> stops.max_steps_for(10.0)  # nothing was observed: assume that no answer stops early
        10.0
        >>> stops._stops = np.array([2.0, np.inf])
        >>> stops.max_steps_for(10.0)  # one in two stops after 2 steps
        18.0
        """
        stopped = self._stops < np.inf
        if mean_steps == np.inf or not np.count_nonzero(stopped):
            return mean_steps
        n, early = len(self._stops), self._stops[stopped]
        if len(early) == n and mean_steps > early.max():
            return np.inf
        early.sort()
        spent = np.concatenate([[0.0], np.cumsum(early)])  # by the first 0, 1, 2, ... answers to stop
        rest = n - np.arange(len(early) + 1)  # number of the other answers
        with np.errstate(divide="ignore", invalid="ignore"):
            allowed = np.where(rest > 0, (n * mean_steps - spent) / np.maximum(rest, 1), np.inf)
        next_stop = np.append(early, np.inf)
        return float(allowed[np.argmax(allowed <= next_stop)])

    def mean_steps(self, max_steps: float) -> float:
        """Return what a maximum costs on average, in steps: f(n).

        Examples
        --------
        >>> stops = EarlyStops()
        >>> stops.mean_steps(10.0)
        10.0
        >>> stops._stops = np.array([2.0, np.inf])
        >>> stops.mean_steps(18.0)
        10.0
        """
        n = len(self._stops)
        return float(np.minimum(self._stops, max_steps).sum()) / n if n else max_steps
