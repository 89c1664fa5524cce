"""Result of classifying a batch of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

_MAX_LABEL_BYTES = 1024


class Rows(NamedTuple):
    """Arrays of an answer, or of a block of it, with one row per record."""

    labels: NDArray[Any]
    proba: NDArray[np.float64]
    steps: NDArray[np.int64]
    certified: NDArray[np.bool_]
    reached: NDArray[np.bool_] | None  # None: all were reached
    confident: NDArray[np.bool_] | None  # None: none is confident


class Unread(NamedTuple):
    """What an answer says of the records that a call did not reach.

    Parameters
    ----------
    label : object
        The most probable class among the training records.
    proba : array of shape (n_classes,)
        The probabilities of the classes among the training records.
    n_behind : int
        Number of records behind the last row of the arrays of an answer; none of them was reached.
    """

    label: Any
    proba: NDArray[np.float64]
    n_behind: int = 0


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
    unread : Unread, optional
        What is said of records that were not reached, also of those for which the arrays have no row. It is written
        when it is first asked for, because writing a large array takes longer than a deadline allows.
    confident : array of shape (n_records,), optional
        True where a test of the classifier ended the work, at a stated rate of error; such labels are not certified.
        Default: none.
    """

    __slots__ = ("_found", "_n_records", "elapsed_s")
    _found: tuple[Sequence[Rows], Unread | None]  # one attribute, so that threads that ask at once agree

    def __init__(
        self,
        labels: NDArray[Any],
        proba: NDArray[np.float64],
        steps: NDArray[np.int64],
        certified: NDArray[np.bool_],
        elapsed_s: float,
        reached: NDArray[np.bool_] | None = None,
        unread: Unread | None = None,
        confident: NDArray[np.bool_] | None = None,
    ) -> None:
        self._set([Rows(labels, proba, steps, certified, reached, confident)], elapsed_s, unread)

    @classmethod
    def of_blocks(cls, blocks: Sequence[Rows], elapsed_s: float, unread: Unread) -> Self:
        """Return the answer of records that were classified in blocks, which are joined when first asked for."""
        answer = cls.__new__(cls)
        answer._set(blocks, elapsed_s, unread)
        return answer

    def _set(self, blocks: Sequence[Rows], elapsed_s: float, unread: Unread | None) -> None:
        self._found = blocks, unread
        self._n_records = sum(len(rows.labels) for rows in blocks) + (0 if unread is None else unread.n_behind)
        self.elapsed_s = elapsed_s

    @property
    def labels(self) -> NDArray[Any]:
        """The most probable class of each record."""
        return self._complete().labels

    @property
    def proba(self) -> NDArray[np.float64]:
        """Probabilities in the order of the classifier's `classes_`; each row sums to 1."""
        return self._complete().proba

    @property
    def steps(self) -> NDArray[np.int64]:
        """Steps taken for each record."""
        return self._complete().steps

    @property
    def certified(self) -> NDArray[np.bool_]:
        """True where no further step could change the label."""
        return self._complete().certified

    @property
    def reached(self) -> NDArray[np.bool_]:
        """False where the deadline or the stop token ended the call before this record."""
        rows = self._complete()
        if rows.reached is None:  # made when it is first asked for: that takes as long as classifying a record
            rows = rows._replace(reached=np.ones(len(rows.labels), dtype=np.bool_))
            self._found = [rows], None
        assert rows.reached is not None
        return rows.reached

    @property
    def confident(self) -> NDArray[np.bool_]:
        """True where a test of the classifier ended the work; such labels are not certified."""
        rows = self._complete()
        if rows.confident is None:
            rows = rows._replace(confident=np.zeros(len(rows.labels), dtype=np.bool_))
            self._found = [rows], None
        assert rows.confident is not None
        return rows.confident

    @property
    def settled(self) -> NDArray[np.bool_]:
        """True where a larger number of steps changes nothing: certified or confident."""
        return np.asarray(self.certified | self.confident)

    def _complete(self) -> Rows:
        """Return the arrays, with what is said of records that were not reached."""
        blocks, unread = self._found
        if unread is None:
            return blocks[0]
        rows = _join(blocks, self._n_records)
        assert rows.reached is not None
        unreached = np.flatnonzero(~rows.reached)
        rows.labels[unreached], rows.proba[unreached] = unread.label, unread.proba
        self._found = [rows], None
        return rows

    def take(self, rows: slice | NDArray[np.bool_]) -> Answer:
        """Return the answer for some of the records."""
        kept = (self.labels[rows], self.proba[rows], self.steps[rows], self.certified[rows])
        return Answer(*kept, self.elapsed_s, self.reached[rows], confident=self.confident[rows])

    def __len__(self) -> int:
        return self._n_records

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


def _join(blocks: Sequence[Rows], n_records: int) -> Rows:
    """Return arrays with rows for `n_records`; those behind the blocks were not reached."""
    if len(blocks) == 1 and len(blocks[0].labels) == n_records:
        return blocks[0]

    def join(name: str, default: bool = False) -> Any:
        first = getattr(blocks[0], name)
        shape, dtype = ((), np.bool_) if first is None else (first.shape[1:], first.dtype)
        array, begin = np.zeros((n_records, *shape), dtype), 0
        for rows in blocks:
            end = begin + len(rows.labels)
            part = getattr(rows, name)
            array[begin:end] = default if part is None else part
            begin = end
        return array

    return Rows(*(join(name, default=name == "reached") for name in Rows._fields))


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
