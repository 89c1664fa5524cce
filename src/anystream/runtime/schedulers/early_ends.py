"""How many steps answers take that may stop early, because nothing can change them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer

_KEPT = 512  # answers of late that are looked at


class EarlyEnds:
    """After how many steps the latest answers were certain; the others count as never.

    An allowance of n steps then costs f(n) = mean(min(T, n)) on average, with T the steps after which an answer is
    certain. What answers leave over can be given out: `allowance` inverts f.
    """

    def __init__(self) -> None:
        self._ends: NDArray[np.float64] = np.empty(0)

    def see(self, answer: Answer) -> None:
        """Remember how a batch ended."""
        ends = np.where(answer.certified, answer.steps, np.inf)[-_KEPT:]
        self._ends = np.concatenate([self._ends[len(ends) - _KEPT :] if len(ends) < _KEPT else ends[:0], ends])

    def allowance(self, average: float) -> float:
        """The allowance that costs `average` steps per record; infinite if even that costs less.

        Examples
        --------
        >>> ends = EarlyEnds()
        >>> ends.allowance(10.0)  # nothing is known: nobody stops early
        10.0
        >>> ends._ends = np.array([2.0, np.inf])
        >>> ends.allowance(10.0)  # one in two stops after 2 steps
        18.0
        """
        early = np.sort(self._ends[np.isfinite(self._ends)])
        if len(early) == 0 or average == np.inf:
            return average
        n = len(self._ends)
        spent = np.concatenate([[0.0], np.cumsum(early)])  # by those that end first
        rest = n - np.arange(len(early) + 1)  # those that do not
        with np.errstate(divide="ignore", invalid="ignore"):
            allowed = np.where(rest > 0, (n * average - spent) / np.maximum(rest, 1), np.inf)
        ends_next = np.append(early, np.inf)
        return float(allowed[np.argmax(allowed <= ends_next)])

    def spent(self, allowance: float) -> float:
        """What an allowance costs on average, in steps: f(n).

        Examples
        --------
        >>> ends = EarlyEnds()
        >>> ends.spent(10.0)
        10.0
        >>> ends._ends = np.array([2.0, np.inf])
        >>> ends.spent(18.0)
        10.0
        """
        return float(np.minimum(self._ends, allowance).mean()) if len(self._ends) else allowance
