"""Result of classifying a batch of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_MAX_LABEL_BYTES = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Labels and probabilities of a batch of records, and the work they took.

    Parameters
    ----------
    labels : array of shape (n_records,)
        The most probable class of each record.
    proba : array of shape (n_records, n_classes)
        Probabilities in the order of the classifier's `classes_`; each row sums to 1.
    steps : array of shape (n_records,)
        Steps taken for each record.
    certified : array of shape (n_records,)
        True where no further step could change the label.
    elapsed_s : float
        Duration of the call in seconds.
    """

    labels: NDArray[Any]
    proba: NDArray[np.float64]
    steps: NDArray[np.int64]
    certified: NDArray[np.bool_]
    elapsed_s: float

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        if len(self) == 0:
            return "Answer(no records)"
        return (
            f"Answer({len(self)} records, {self.steps.mean():.1f} steps on average, "
            f"{self.certified.mean():.0%} certified, {self.elapsed_s * 1e3:.2f} ms)"
        )


def most_probable(classes: NDArray[Any], proba: NDArray[np.float64]) -> NDArray[Any]:
    """Return the class with the highest probability of each row.

    Long texts are returned as objects: an array of texts would take the width of the longest for each record.
    """
    if classes.dtype.itemsize > _MAX_LABEL_BYTES:
        classes = classes.astype(object)
    return np.asarray(classes[proba.argmax(axis=1)])


class BatchResult(NamedTuple):
    """Return value of the hook `classify_records`: arrays with one row per record.

    Parameters
    ----------
    proba : array of shape (n_records, n_classes)
        Probabilities; each row sums to 1.
    steps : array of shape (n_records,)
        Steps taken.
    certified : array of shape (n_records,)
        True where no further step could change the label.
    """

    proba: NDArray[np.float64]
    steps: NDArray[np.int64]
    certified: NDArray[np.bool_]
