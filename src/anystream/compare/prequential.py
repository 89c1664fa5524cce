"""A prequential pass over the training records that ends after a limit of processor time."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from anystream.compare.candidate import NO_LABEL, Candidate
from anystream.evaluate import Run, run_prequential


class LimitedStream:
    """Labelled records until a limit of processor time, which is checked before each block of records.

    Parameters
    ----------
    name : str
        Name of the task.
    X, y : array
        The records.
    max_s : float
        Processor time in seconds from the first record on.
    """

    BLOCK = 100  # records between checks of the limit; also the number that scikit-learn learns together

    def __init__(self, name: str, X: NDArray[np.float64], y: NDArray[np.int64], max_s: float) -> None:
        self.name, self._X, self._y, self._max_s = name, X, y, max_s

    def batches(self, size: int) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Yield batches of at most `size` records while the limit lasts; at least one."""
        block = min(size, self.BLOCK)
        began = time.process_time()
        for first in range(0, len(self._y), block):
            if first > 0 and time.process_time() - began > self._max_s:
                return
            yield self._X[first : first + block], self._y[first : first + block]


class _BatchInterface:
    """A candidate with the methods that `run_prequential` calls."""

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.object_]:
        if len(X) == 1:
            return np.array([self._candidate.predict_one(self._candidate.as_records(X)[0])], dtype=np.object_)
        labels = self._candidate.predict(X)
        found: NDArray[np.object_] = labels.astype(np.object_)
        found[labels == NO_LABEL] = None
        return found

    def partial_fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        self._candidate.partial_fit(X, y)


def run_pass(
    candidate: Candidate, name: str, X: NDArray[np.float64], y: NDArray[np.int64], *, max_s: float, method: str
) -> Run:
    """Test and then train a method on each record, or on small batches if it cannot learn single records.

    The first record has no prediction, which counts as an error, for every method.
    """
    stream = LimitedStream(name, X, y, max_s)
    return run_prequential(_BatchInterface(candidate), stream, batch_size=candidate.learn_batch, method=method)
