"""A full chunk whose work is done in portions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class ChunkInProgress(NamedTuple):
    """A full chunk and the results of the steps that were taken to learn it. Taking steps returns a new object.

    Parameters
    ----------
    records : array of shape (n_records, n_features)
        The records of the chunk.
    numbers : array of shape (n_records,)
        Their class numbers.
    n_classes : int
        Classes known when the chunk was full.
    results : tuple
        Results of the steps taken, in order. A model file does not hold them: they are computed again.
    """

    records: NDArray[np.float64]
    numbers: NDArray[np.int32]
    n_classes: int
    results: tuple[Any, ...] = ()

    def take_steps(self, steps: Sequence[Callable[[], Any]], target: int) -> ChunkInProgress:
        """Return the chunk with the results of the first `target` steps."""
        results = tuple(step() for step in steps[len(self.results) : target])
        return self._replace(results=self.results + results)
