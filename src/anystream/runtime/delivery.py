"""Delivery of answers, dead letters and labels: where every record of a run ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer
from anystream.runtime.contracts import AnsweredRecords, DeadLetters, LabelPollResult, Sink
from anystream.runtime.label_matcher import LabelMatcher
from anystream.runtime.learner import Learner
from anystream.runtime.records import Records, RejectedRecord
from anystream.runtime.summary import Summary

_FLUSH_S = 0.05  # time between two flushes while the engine is busy; an idle engine flushes at once


class BadRecordError(ValueError):
    """A record, or label record, that cannot be read or classified, in a run that stops at the first of them."""

    def __init__(self, rejected: RejectedRecord) -> None:
        super().__init__(rejected.describe())
        self.rejected = rejected


class Delivery:
    """Writes answers and dead letters, passes labelled records to the learner, and counts all of them.

    Parameters
    ----------
    sink : Sink
        Where answers are written.
    dead_letters : DeadLetters or None
        Where rejected records are written; None only counts them.
    learner : Learner
        The learner of labelled records.
    matcher : LabelMatcher or None
        Where records wait for their labels; None if labels only come with their records.
    summary : Summary
        The account of the run.
    strict : bool
        Raise `BadRecordError` at the first rejected record.
    """

    def __init__(
        self,
        sink: Sink,
        dead_letters: DeadLetters | None,
        learner: Learner,
        matcher: LabelMatcher | None,
        summary: Summary,
        *,
        strict: bool,
    ) -> None:
        self._sink = sink
        self._dead_letters = dead_letters
        self._learner = learner
        self._matcher = matcher
        self._summary = summary
        self._strict = strict
        self._flushed_at = -np.inf
        self._unflushed = False

    # -- records -----------------------------------------------------------------------------------------------------

    def deliver(self, records: Records, answer: Answer, classes: NDArray[Any], now: float) -> None:
        """Write the answers, count them, and pass records whose label is known to the learner."""
        waited_s, late = now - records.arrival, now > records.deadline
        self._sink.write(
            AnsweredRecords(
                records.key, answer.labels, answer.proba, classes, answer.steps, answer.certified, waited_s, late
            )
        )
        self._unflushed = True
        has_label = records.label != None  # noqa: E711  compared element by element
        self._count(records, answer, has_label, waited_s, late)
        if not self._learner.learns:
            return
        if self._matcher is not None:
            labelled, evicted = self._matcher.match_records(records)
            from_source = len(labelled) - int(np.count_nonzero(has_label))
            self._summary.labels_matched += from_source
            self._summary.unlabelled_evicted += evicted
            self._count_pending(self._matcher)
            self._learner.submit(labelled)
        elif has_label.any():
            rows = np.flatnonzero(has_label)
            self._learner.submit([(records.features[row], records.label[row]) for row in rows])

    def reject(self, rejected: Sequence[RejectedRecord]) -> None:
        """Count records that could not be read or classified, and dead-letter them; a strict run raises instead."""
        if rejected:
            self._raise_if_strict(rejected)
            self._summary.add_rejected(rejected)
            self.dead_letter(rejected)

    def shed(self, records: Records, reason: str) -> None:
        """Count records that the queue evicted, and dead-letter them."""
        self._summary.shed += len(records)
        if self._dead_letters is not None:  # else save the time: a full queue means that there is none
            self.dead_letter(records.reject(reason))

    def dead_letter(self, rejected: Sequence[RejectedRecord]) -> None:
        """Write records to the dead letters, without counting them."""
        if self._dead_letters is not None:
            self._dead_letters.write(rejected)
            self._unflushed = True

    # -- labels ------------------------------------------------------------------------------------------------------

    def match_labels(self, polled: LabelPollResult) -> None:
        """Match labels with their records, and dead-letter malformed label records; a strict run raises instead."""
        assert self._matcher is not None
        if polled.rejected:
            rejected = [found._replace(reason=f"label source: {found.reason}") for found in polled.rejected]
            self._raise_if_strict(rejected)
            self._summary.add_rejected_labels(rejected)
            self.dead_letter(rejected)
        if polled.labels:
            labelled, evicted = self._matcher.match_labels(polled.labels)
            self._summary.labels_received += len(polled.labels)
            self._summary.labels_matched += len(labelled)
            self._summary.labels_evicted += evicted
            self._count_pending(self._matcher)
            self._learner.submit(labelled)

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
        """Remove what was written after a `state`."""
        self._sink.rewind(state["sink"])
        if self._dead_letters is not None:
            self._dead_letters.rewind(state["dead_letters"])

    # -- details -----------------------------------------------------------------------------------------------------

    def _count(
        self,
        records: Records,
        answer: Answer,
        has_label: NDArray[np.bool_],
        waited_s: NDArray[np.float64],
        late: NDArray[np.bool_],
    ) -> None:
        summary, n_late = self._summary, int(np.count_nonzero(late))
        summary.answered += len(records)
        summary.late += n_late
        summary.on_time += len(records) - n_late
        summary.steps += int(answer.steps.sum())
        summary.certified += int(np.count_nonzero(answer.certified))
        summary.add_waits(waited_s)
        if has_label.any():
            right = has_label & (records.label == answer.labels)
            summary.judged += int(np.count_nonzero(has_label))
            summary.right += int(np.count_nonzero(right))
            summary.right_on_time += int(np.count_nonzero(right & ~late))

    def _count_pending(self, matcher: LabelMatcher) -> None:
        self._summary.labels_pending = matcher.pending_labels
        self._summary.unlabelled_pending = matcher.pending_records

    def _raise_if_strict(self, rejected: Sequence[RejectedRecord]) -> None:
        if self._strict:
            raise BadRecordError(rejected[0])
