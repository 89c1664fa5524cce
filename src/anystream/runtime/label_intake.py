"""Intake of labels: from classified records and from the label source, through the matcher, to the learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.contracts import BrokerSource, LabelSource, LateLabel
from anystream.runtime.delivery import Delivery
from anystream.runtime.label_matcher import LabelMatcher
from anystream.runtime.learner import Learner
from anystream.runtime.record_checks import RecordChecks
from anystream.runtime.records import Records, RejectedRecord, is_given
from anystream.runtime.summary import Summary

_MAX_LABELS = 1024  # maximum number of labels taken at a time: a turn should be short
_MIN_PORTION = 256  # records matched at a time while the matcher is full


class LabelIntake:
    """Takes labels of classified records and submits both to the learner.

    Labels of a label source are read no further ahead than the matcher can hold: a file of labels waits for the
    records. Two kinds of labels are evicted to make place for the next ones, if the matcher is full of labels. First,
    those that were passed over: a later label was matched, and as many records as the matcher holds were classified
    since they came. Second, if as many records in a row had no label at all, all that wait are considered outdated.

    Parameters
    ----------
    source : LabelSource or None
        Labels that come later; None if labels only come with their records.
    matcher : LabelMatcher
        Where records and labels wait for each other.
    checks : RecordChecks
        What a label and its key must satisfy.
    learner : Learner
        The learner of labelled records.
    delivery : Delivery
        Where malformed labels go.
    summary : Summary
        The account of the run.
    """

    def __init__(
        self,
        source: LabelSource | None,
        matcher: LabelMatcher,
        checks: RecordChecks,
        learner: Learner,
        delivery: Delivery,
        summary: Summary,
    ) -> None:
        self._source = source
        self._matcher = matcher
        self._checks = checks
        self._learner = learner
        self._delivery = delivery
        self._summary = summary
        self._unmatched_in_a_row = 0  # records since a label was matched
        self._broker: BrokerSource | None = getattr(source, "broker", None)
        self._read: list[int] = []  # offsets of labels of a broker that are not acknowledged yet

    def take_read(self) -> NDArray[np.int64]:
        """Return the offsets of the labels of a broker that were read and not returned before."""
        read = self._read
        self._read = []
        return np.array(read, dtype=np.int64)

    def acknowledge(self, read: NDArray[np.int64]) -> None:
        """Acknowledge labels that `take_read` returned; with another label source, do nothing."""
        if self._broker is not None and len(read):
            self._broker.acknowledge_records(read)

    def match(self, records: Records) -> None:
        """Submit classified records that have a label; the others wait for it, if there is a label source."""
        if not self._learner.learns:
            return
        if self._source is None:
            labelled = is_given(records.label)
            self._submit(records.take(labelled))
            return
        first, min_portion = 0, min(_MIN_PORTION, self._matcher.capacity)
        while first < len(records):
            if self._matcher.free_record_slots < min_portion:
                self._read_labels(self._matcher.capacity)
            portion = records.take(slice(first, first + (self._matcher.free_record_slots or min_portion)))
            self._match_records(portion)
            first += len(portion)

    def take(self) -> int:
        """Match the labels that are ready, as many as matcher and learner can hold; return how many were read."""
        return 0 if self._source is None or self._learner.is_full else self._read_labels(_MAX_LABELS)

    def finish(self) -> None:
        """Match all labels that are ready; called when no further record will come."""
        if self._source is None:
            return
        while self._poll(self._source, _MAX_LABELS):
            while self._learner.is_full:
                self._learner.wait(1.0)

    def state(self, read: NDArray[np.int64] | None = None) -> dict[str, Any]:
        """Return how far the label source was read, for a checkpoint; empty without one.

        `read` are the labels of a broker that will be acknowledged when the checkpoint is saved.
        """
        if self._source is None:
            return {}
        if self._broker is not None:
            return {
                "fingerprint": self._broker.fingerprint(),
                "positions": self._broker.positions(np.empty(0, dtype=np.int64) if read is None else read),
                "unmatched_in_a_row": self._unmatched_in_a_row,
            }
        return {
            "offset": self._source.offset,
            "fingerprint": self._source.fingerprint(),
            "unmatched_in_a_row": self._unmatched_in_a_row,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a `state`, or from the first label if there was no label source."""
        if self._source is not None and state:
            if ("positions" in state) != (self._broker is not None):
                raise ValueError("the labels of the run came from elsewhere; give the --labels of that run")
            self._unmatched_in_a_row = state["unmatched_in_a_row"]
            if self._broker is not None:
                self._broker.seek(0, state["fingerprint"])
                self._broker.restore_positions(state["positions"])
                return
            self._source.seek(state["offset"], state["fingerprint"])

    def _match_records(self, records: Records) -> None:
        labelled, evicted = self._matcher.match_records(records)
        with_own_label = int(np.count_nonzero(is_given(records.label)))
        from_source = len(labelled) - with_own_label
        self._unmatched_in_a_row = 0 if from_source else self._unmatched_in_a_row + len(records)
        self._summary.labels_matched += from_source
        self._summary.unlabelled_evicted += evicted
        self._count_pending()
        self._submit(labelled)

    def _submit(self, labelled: Records) -> None:
        dropped, oversized = self._learner.dropped, self._learner.oversized
        self._learner.submit(labelled)
        self._summary.learning_dropped += self._learner.dropped - dropped
        self._summary.learning_oversized += self._learner.oversized - oversized

    def _read_labels(self, max_labels: int) -> int:
        """Read labels while the matcher can hold them; return how many."""
        assert self._source is not None
        n_read = 0
        while n_read < max_labels:
            if self._matcher.free_label_slots == 0:
                self._summary.labels_evicted += self._matcher.evict_passed_labels()
            free, outdated = self._matcher.free_label_slots, self._unmatched_in_a_row >= self._matcher.capacity
            if free == 0 and not outdated:
                break
            last = self._matcher.last_label
            n = self._poll(self._source, min(free or self._matcher.capacity, max_labels - n_read))
            if n == 0:
                break
            n_read += n
            if free == 0:
                self._summary.labels_evicted += self._matcher.evict_labels(last)
        self._count_pending()
        return n_read

    def _poll(self, source: LabelSource, max_labels: int) -> int:
        """Poll the source once and match what it had; return how many labels that were, malformed ones included."""
        polled = source.poll(max_labels)
        labels, malformed = self._split(polled.labels)
        rejected = [*polled.rejected, *malformed]
        if self._broker is not None:
            self._read += [late.offset for late in polled.labels] + [found.offset for found in polled.rejected]
        if rejected:
            self._delivery.reject_labels(rejected)
        if labels:
            labelled, evicted = self._matcher.match_labels(labels)
            if len(labelled):
                self._unmatched_in_a_row = 0
            self._summary.labels_received += len(labels)
            self._summary.labels_matched += len(labelled)
            self._summary.labels_evicted += evicted
            self._count_pending()
            self._submit(labelled)
        self._summary.labels_unread = not source.done
        return len(labels) + len(rejected)

    def _split(self, labels: Sequence[LateLabel]) -> tuple[Sequence[LateLabel], list[RejectedRecord]]:
        """Return the valid labels, and the others with the reason."""
        errors = {row: error for row, late in enumerate(labels) if (error := self._find_error(late)) is not None}
        if not errors:
            return labels, []
        valid = [late for row, late in enumerate(labels) if row not in errors]
        return valid, [labels[row].reject(error) for row, error in errors.items()]

    def _find_error(self, late: LateLabel) -> str | None:
        if late.key is None or late.label is None:
            return f"the record has no {'key' if late.key is None else 'label'}"
        return self._checks.key_error(late.key) or self._checks.label_error(late.label)

    def _count_pending(self) -> None:
        self._summary.labels_pending = self._matcher.pending_labels
        self._summary.labels_duplicated = self._matcher.duplicated
        self._summary.unlabelled_pending = self._matcher.pending_records
