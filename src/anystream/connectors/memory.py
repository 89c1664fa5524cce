"""Records, labels and answers in memory: for programs that hold them already, and for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anystream.runtime.contracts import AnsweredRecords, LabelPollResult, LateLabel, PollResult
from anystream.runtime.records import Records, RejectedRecord
from anystream.runtime.row_hash import check_rows, describe_rows


class MemorySource:
    """The records of a table; the offset of a record is its row number.

    Parameters
    ----------
    X : array-like of shape (n_records, n_features)
        The records.
    y : sequence, optional
        Their labels; None where a label is not known.
    key : sequence, optional
        Their keys; by default the row numbers.
    arrival, deadline : array-like, optional
        Instants, in seconds on the engine's clock, at which the records arrived and at which answers are due.

    Attributes
    ----------
    acknowledged : int
        The offset that was acknowledged last.
    """

    def __init__(
        self,
        X: ArrayLike,
        y: Sequence[Any] | None = None,
        *,
        key: Sequence[Any] | None = None,
        arrival: ArrayLike | None = None,
        deadline: ArrayLike | None = None,
    ) -> None:
        self._records = Records.from_features(X, key=key, arrival=arrival, deadline=deadline, label=y)
        self.offset = 0
        self.acknowledged = 0

    @property
    def done(self) -> bool:
        """Whether every record was polled."""
        return self.offset >= len(self._records)

    def poll(self, max_records: int) -> PollResult:
        """Return the next records."""
        first = self.offset
        self.offset = min(first + max_records, len(self._records))
        return PollResult(self._records.take(slice(first, self.offset)))

    def wait(self, seconds: float) -> None:
        """Return at once: records in memory are ready."""

    def fingerprint(self) -> dict[str, Any]:
        """Return the number of records polled so far, and a hash of their features."""
        return describe_rows(self._records.features[: self.offset])

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from row `offset`."""
        check_rows(self._records.features, fingerprint)
        if not 0 <= offset <= len(self._records):
            raise ValueError(f"offset is {offset}; the source has {len(self._records)} records")
        self.offset = offset

    def acknowledge(self, offset: int) -> None:
        """Store the offset."""
        self.acknowledged = offset

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class MemorySink:
    """Answers as a list of batches, and by key.

    Attributes
    ----------
    batches : list of AnsweredRecords
        Everything that was written, in order.
    """

    def __init__(self) -> None:
        self.batches: list[AnsweredRecords] = []

    def __len__(self) -> int:
        return sum(len(batch.key) for batch in self.batches)

    def write(self, answers: AnsweredRecords) -> None:
        """Append the answers."""
        self.batches.append(answers)

    def flush(self) -> None:
        """Do nothing: memory does not outlive the process."""

    def mark(self, *, complete: bool) -> dict[str, Any]:
        """Return the number of batches."""
        return {"batches": len(self.batches)}

    def sync(self) -> None:
        """Do nothing: memory does not outlive the process."""

    def rewind(self, mark: dict[str, Any] | None) -> None:
        """Drop the batches after `mark`."""
        del self.batches[0 if mark is None else mark["batches"] :]

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def labels(self) -> dict[Any, Any]:
        """Return the label that each key was given."""
        return {
            key: label
            for batch in self.batches
            for key, label in zip(batch.key.tolist(), batch.label.tolist(), strict=True)
        }

    def column(self, name: str) -> Any:
        """Return one column of all answers, such as ``"steps"`` or ``"waited_s"``."""
        return np.concatenate([getattr(batch, name) for batch in self.batches] or [np.empty(0)])


class MemoryDeadLetters:
    """Rejected records as a list.

    Attributes
    ----------
    rejected : list of RejectedRecord
        Everything that was written, in order.
    """

    def __init__(self) -> None:
        self.rejected: list[RejectedRecord] = []

    def write(self, rejected: Sequence[RejectedRecord]) -> None:
        """Append the rejected records."""
        self.rejected.extend(rejected)

    def flush(self) -> None:
        """Do nothing: memory does not outlive the process."""

    def mark(self, *, complete: bool) -> dict[str, Any]:
        """Return the number of rejected records."""
        return {"rejected": len(self.rejected)}

    def sync(self) -> None:
        """Do nothing: memory does not outlive the process."""

    def rewind(self, mark: dict[str, Any] | None) -> None:
        """Drop the rejected records after `mark`."""
        del self.rejected[0 if mark is None else mark["rejected"] :]

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class MemoryLabels:
    """Pairs of key and label, to which more can be added at any time.

    Parameters
    ----------
    pairs : sequence of (key, label)
        The first pairs.
    is_open : bool, default=False
        Whether more may be added; otherwise the source is done when all are polled.
    """

    def __init__(self, pairs: Sequence[tuple[Any, Any]] = (), *, is_open: bool = False) -> None:
        self._pairs = list(pairs)
        self._is_open = is_open
        self.offset = 0

    def add(self, key: Any, label: Any) -> None:
        """Append a pair."""
        self._pairs.append((key, label))

    @property
    def done(self) -> bool:
        """Whether all were polled and none can be added."""
        return not self._is_open and self.offset >= len(self._pairs)

    def poll(self, max_labels: int) -> LabelPollResult:
        """Return the next pairs."""
        pairs = self._pairs[self.offset : self.offset + max_labels]
        labels = [LateLabel(key, label, self.offset + row) for row, (key, label) in enumerate(pairs)]
        self.offset += len(pairs)
        return LabelPollResult(labels)

    def fingerprint(self) -> dict[str, Any]:
        """Return the number of pairs polled so far, and a hash of them."""
        return describe_rows(self._pairs[: self.offset])

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from pair `offset`."""
        check_rows(self._pairs, fingerprint)
        self.offset = offset

    def close(self) -> None:
        """Declare that no more pairs will be added."""
        self._is_open = False
