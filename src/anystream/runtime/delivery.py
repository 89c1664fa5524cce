"""Delivery of answers and dead letters: where every record of a run ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anystream.anytime.answer import Answer
from anystream.anytime.errors import RecordError
from anystream.runtime.acknowledgement import Acknowledgement
from anystream.runtime.contracts import AnsweredRecords, DeadLetters, Sink
from anystream.runtime.records import Records, RejectedRecord, is_given
from anystream.runtime.summary import Summary

_FLUSH_S = 0.05  # time between two flushes while the engine is busy; an idle engine flushes at once


class BadRecordError(ValueError):
    """A record, or label record, that cannot be read or classified, in a run that stops at the first of them."""

    def __init__(self, rejected: RejectedRecord) -> None:
        super().__init__(rejected.describe())
        self.rejected = rejected


class Delivery:
    """Writes answers and dead letters, and counts them.

    Parameters
    ----------
    sink : Sink
        Where answers are written.
    dead_letters : DeadLetters or None
        Where rejected records are written; None only counts them.
    summary : Summary
        The account of the run.
    strict : bool
        Raise `BadRecordError` at the first rejected record.
    acknowledgement : Acknowledgement, optional
        Receives the offsets of finished records, if the source is a broker.
    """

    def __init__(
        self,
        sink: Sink,
        dead_letters: DeadLetters | None,
        summary: Summary,
        *,
        strict: bool,
        acknowledgement: Acknowledgement | None = None,
    ) -> None:
        self._acknowledgement = acknowledgement
        self._sink = sink
        self._dead_letters = dead_letters
        self._summary = summary
        self._strict = strict
        self._flushed_at = -np.inf
        self._unflushed = False

    # -- records -----------------------------------------------------------------------------------------------------

    def deliver(self, records: Records, answer: Answer, classes: NDArray[Any], now: float) -> Records:
        """Write the answers and count them; return the records without those whose answer the sink cannot encode.

        If the sink refuses the batch, it is halved until the records at fault are found; they are rejected.
        """
        waited_s, late = now - records.arrival, now > records.deadline
        unknown = is_given(records.unknown)
        try:
            self._sink.write(
                AnsweredRecords(
                    records.key,
                    answer.labels,
                    answer.proba,
                    classes,
                    answer.steps,
                    answer.certified,
                    waited_s,
                    late,
                    unknown,
                    records.kept,
                    records.offset,
                    answer.reached,
                    answer.confident,
                )
            )
        except RecordError as error:
            if len(records) == 1:
                self.reject(records.reject(f"the answer cannot be written: {error}"))
                return records.take(slice(0, 0))
            half = len(records) // 2
            halves = [
                self.deliver(records.take(rows), answer.take(rows), classes, now)
                for rows in (slice(half), slice(half, None))
            ]
            return Records.concatenate(halves)
        self._unflushed = True
        self._finish(records.offset)
        self._count(records, answer, waited_s, late)
        if unknown.any():
            self._summary.add_unknown(records.line[unknown], records.offset[unknown], records.unknown[unknown])
        return records

    def reject(self, rejected: Sequence[RejectedRecord]) -> None:
        """Count records that could not be read or classified, and dead-letter them; a strict run raises instead."""
        if rejected:
            if self._acknowledgement is not None:
                rejected = self._acknowledgement.add_origins(rejected)
            self._raise_if_strict(rejected)
            self._summary.add_rejected(rejected)
            self.dead_letter(rejected)
            self._finish([found.offset for found in rejected])

    def shed(self, records: Records, reason: str) -> None:
        """Count records that the queue evicted, and dead-letter them."""
        self._summary.shed += len(records)
        if self._dead_letters is not None:  # else save the time: a full queue means that there is none
            rejected = records.reject(reason)
            self.dead_letter(rejected if self._acknowledgement is None else self._acknowledgement.add_origins(rejected))
        self._finish(records.offset)

    def dead_letter(self, rejected: Sequence[RejectedRecord]) -> None:
        """Write records to the dead letters, without counting them."""
        if self._dead_letters is not None:
            self._dead_letters.write(rejected)
            self._unflushed = True

    # -- labels ------------------------------------------------------------------------------------------------------

    def reject_labels(self, rejected: Sequence[RejectedRecord]) -> None:
        """Count malformed records of the label source, and dead-letter them; a strict run raises instead."""
        rejected = [found._replace(reason=f"label source: {found.reason}") for found in rejected]
        self._raise_if_strict(rejected)
        self._summary.add_rejected_labels(rejected)
        self.dead_letter(rejected)

    def reject_unlearned(self, rejected: Sequence[RejectedRecord]) -> None:
        """Count classified records that could not be learned, and dead-letter a copy; a strict run raises instead."""
        if rejected:
            self._raise_if_strict(rejected)
            self._summary.add_unlearned(rejected)
            self.dead_letter(rejected)

    # -- making it safe ----------------------------------------------------------------------------------------------

    def flush_if_due(self, now: float, *, idle: bool) -> None:
        """Flush if the engine is idle, or if the last flush was long enough ago."""
        if self._unflushed and (idle or now - self._flushed_at >= _FLUSH_S):
            self.flush(now)

    def flush(self, now: float) -> None:
        """Hand everything written to the system."""
        self._sink.flush()
        if self._dead_letters is not None:
            self._dead_letters.flush()
        if self._acknowledgement is not None:
            self._acknowledgement.flushed()
        self._flushed_at, self._unflushed = now, False

    def state(self, *, complete: bool) -> dict[str, Any]:
        """Flush, and return the marks of answers and dead letters for a checkpoint.

        `complete` says that nothing will be written after them.
        """
        return {
            "sink": self._sink.mark(complete=complete),
            "dead_letters": None if self._dead_letters is None else self._dead_letters.mark(complete=complete),
        }

    def sync(self) -> None:
        """Write everything that was flushed to disk; another thread than that of the engine may call this."""
        self._sink.sync()
        if self._dead_letters is not None:
            self._dead_letters.sync()

    def restore(self, state: dict[str, Any]) -> None:
        """Remove what was written after a `state`, unless its records are acknowledged and do not come again."""
        if self._acknowledgement is not None and self._acknowledgement.at_flush:
            return
        self._sink.rewind(state["sink"])
        if self._dead_letters is not None:
            self._dead_letters.rewind(state["dead_letters"])

    # -- details -----------------------------------------------------------------------------------------------------

    def _finish(self, offsets: ArrayLike) -> None:
        if self._acknowledgement is not None:
            self._acknowledgement.add(offsets)
            self._unflushed = True

    def _count(
        self,
        records: Records,
        answer: Answer,
        waited_s: NDArray[np.float64],
        late: NDArray[np.bool_],
    ) -> None:
        summary, n_late = self._summary, int(np.count_nonzero(late))
        summary.answered += len(records)
        summary.late += n_late
        summary.on_time += len(records) - n_late
        summary.steps += int(answer.steps.sum())
        summary.certified += int(np.count_nonzero(answer.certified))
        summary.confident += int(np.count_nonzero(answer.confident))
        summary.unreached += len(records) - int(np.count_nonzero(answer.reached))
        summary.add_waits(waited_s)
        has_label = is_given(records.label)
        if has_label.any():
            right = has_label & (records.label == answer.labels)
            summary.judged += int(np.count_nonzero(has_label))
            summary.right += int(np.count_nonzero(right))
            summary.right_on_time += int(np.count_nonzero(right & ~late))

    def _raise_if_strict(self, rejected: Sequence[RejectedRecord]) -> None:
        if self._strict:
            raise BadRecordError(rejected[0])
