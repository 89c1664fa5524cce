"""Result of classifying a batch of records."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_MAX_LABEL_BYTES = 1024


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
    reached : array of shape (n_records,), optional
        False where the deadline or the stop token ended the call before this record: its probabilities are those of
        the classes among the training records. Default: all were reached.
    unread : tuple of label and array of shape (n_classes,), optional
        Label and probabilities of records that were not reached. They are written when they are first asked for,
        because writing a large array takes longer than a deadline allows.
    confident : array of shape (n_records,), optional
        True where a test of the classifier ended the work, at a stated rate of error; such labels are not certified.
        Default: none.
    """

    __slots__ = ("_confident", "_labels", "_proba", "_reached", "_unread", "certified", "elapsed_s", "steps")

    def __init__(
        self,
        labels: NDArray[Any],
        proba: NDArray[np.float64],
        steps: NDArray[np.int64],
        certified: NDArray[np.bool_],
        elapsed_s: float,
        reached: NDArray[np.bool_] | None = None,
        unread: tuple[Any, NDArray[np.float64]] | None = None,
        confident: NDArray[np.bool_] | None = None,
    ) -> None:
        self._labels = labels
        self._proba = proba
        self.steps = steps
        self.certified = certified
        self.elapsed_s = elapsed_s
        self._reached = reached
        self._unread = unread
        self._confident = confident

    @property
    def reached(self) -> NDArray[np.bool_]:
        """False where the deadline or the stop token ended the call before this record."""
        if self._reached is None:  # made when it is first asked for: that takes as long as classifying a record
            self._reached = np.ones(len(self), dtype=np.bool_)
        return self._reached

    @property
    def confident(self) -> NDArray[np.bool_]:
        """True where a test of the classifier ended the work; such labels are not certified."""
        if self._confident is None:
            self._confident = np.zeros(len(self), dtype=np.bool_)
        return self._confident

    @property
    def settled(self) -> NDArray[np.bool_]:
        """True where a larger number of steps changes nothing: certified or confident."""
        return np.asarray(self.certified | self.confident)

    @property
    def labels(self) -> NDArray[Any]:
        """The most probable class of each record."""
        self._write_unread()
        return self._labels

    @property
    def proba(self) -> NDArray[np.float64]:
        """Probabilities in the order of the classifier's `classes_`; each row sums to 1."""
        self._write_unread()
        return self._proba

    def _write_unread(self) -> None:
        if self._unread is not None:
            rows = np.flatnonzero(~self.reached)
            self._labels[rows], self._proba[rows] = self._unread
            self._unread = None  # last: another thread may write the same values meanwhile

    def take(self, rows: slice | NDArray[np.bool_]) -> Answer:
        """Return the answer for some of the records."""
        kept = (self.labels[rows], self.proba[rows], self.steps[rows], self.certified[rows])
        return Answer(*kept, self.elapsed_s, self.reached[rows], confident=self.confident[rows])

    def __len__(self) -> int:
        return len(self._labels)

    def __repr__(self) -> str:
        if len(self) == 0:
            return "Answer(no records)"
        unreached = np.count_nonzero(~self.reached)
        return (
            f"Answer({len(self)} records, {self.steps.mean():.1f} steps on average, "
            f"{self.certified.mean():.0%} certified, "
            f"{f'{self.confident.mean():.0%} confident, ' if self.confident.any() else ''}"
            f"{f'{unreached} not reached, ' if unreached else ''}"
            f"{self.elapsed_s * 1e3:.2f} ms)"
        )


def most_probable(classes: NDArray[Any], proba: NDArray[np.float64]) -> NDArray[Any]:
    """Return the class with the highest probability of each row.

    Long texts are returned as objects: an array of texts would take the width of the longest for each record.
    """
    if classes.dtype.itemsize > _MAX_LABEL_BYTES:
        classes = classes.astype(object)
    return np.asarray(classes[proba.argmax(axis=1)])


def take_label(classes: NDArray[Any], number: int) -> NDArray[Any]:
    """Return the label of a single record as `most_probable` returns those of a batch."""
    label = classes[number : number + 1]
    return label.astype(object) if classes.dtype.itemsize > _MAX_LABEL_BYTES else label.copy()


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
    reached : array of shape (n_records,), optional
        False where the limits ended the call before this record, whose probabilities are then undefined, its steps 0
        and its answer not certified. None: all were reached.
    confident : array of shape (n_records,), optional
        True where a test ended the work that is no certificate. None: none.
    """

    proba: NDArray[np.float64]
    steps: NDArray[np.int64]
    certified: NDArray[np.bool_]
    reached: NDArray[np.bool_] | None = None
    confident: NDArray[np.bool_] | None = None
