"""What a comparison asks of a classifier, whatever its library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

NO_LABEL = -1
"""Class code where a method has no answer yet."""


class Candidate(ABC):
    """One classifier of one library; labels are class codes 0 to ``n_classes - 1``.

    Subclasses define `as_records` and `predict_one`, and `learn_one` or `fit` or both.

    Attributes
    ----------
    fits : bool
        Whether `fit` trains on all records at once; otherwise the method is trained in one pass of `learn_one`.
    learns : bool
        Whether the method can learn more records after it was trained.
    learn_batch : int
        Number of records that are learned together in a prequential run.
    anytime_model : classifier or None
        The classifier itself if it takes a budget, which is how it runs under load.
    """

    fits: bool = False
    learns: bool = True
    learn_batch: int = 1
    anytime_model: Any = None

    @abstractmethod
    def as_records(self, X: NDArray[np.float64]) -> Sequence[Any]:
        """Return records in the form that the library takes one at a time; this is not timed."""

    @abstractmethod
    def predict_one(self, record: Any) -> int | None:
        """Return the label of one record; None if there is none yet."""

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the label of each record, `NO_LABEL` where there is none."""
        return as_codes(self.predict_one(record) for record in self.as_records(X))

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Train on all records at once."""
        raise TypeError(f"{type(self).__name__} is trained by learn_one")

    def as_labelled(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> Sequence[tuple[Any, Any]]:
        """Return pairs of arguments of `learn_one`; this is not timed."""
        return list(zip(self.as_records(X), y.tolist(), strict=True))

    def learn_one(self, record: Any, label: Any) -> None:
        """Learn one record."""
        raise TypeError(f"{type(self).__name__} is trained by fit")

    def partial_fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Learn records in order."""
        for record, label in self.as_labelled(X, y):
            self.learn_one(record, label)

    def memory_bytes(self) -> int | None:
        """Return the memory in use if the process does not show it, as in a virtual machine; otherwise None."""
        return None


class RowCandidate(Candidate):
    """A classifier that takes arrays, and single records as arrays of one row."""

    fits = True
    learns = False

    def as_records(self, X: NDArray[np.float64]) -> Sequence[Any]:
        """Return arrays of one row each."""
        return [X[row : row + 1] for row in range(len(X))]

    def predict_one(self, record: Any) -> int | None:
        """Return the label of one row."""
        return int(self.predict(record)[0])


def as_codes(labels: Iterable[Any]) -> NDArray[np.int64]:
    """Return labels as class codes, `NO_LABEL` for None.

    Examples
    --------
    >>> as_codes([2, None, 0]).tolist()
    [2, -1, 0]
    """
    return np.array([NO_LABEL if label is None else int(label) for label in labels], dtype=np.int64)
