"""Intake of records: from the source, through the checks, into the queue."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.arrival_rate import ArrivalRate
from anystream.runtime.clock import Clock
from anystream.runtime.contracts import BrokerSource, PollResult, Source, is_broker
from anystream.runtime.delivery import Delivery
from anystream.runtime.learner import Learner
from anystream.runtime.queue import RecordQueue
from anystream.runtime.record_checks import RecordChecks
from anystream.runtime.records import Records, is_given
from anystream.runtime.summary import Summary

_MAX_POLL = 10_000  # maximum number of records taken at a time
_PIECE = 4096  # of more, so many are polled and checked at a time, in memory that evicted ones have freed


class Intake:
    """Takes records from a source and enqueues the valid ones.

    Parameters
    ----------
    source : Source
        Where records come from.
    queue : RecordQueue
        Where they wait.
    checks : RecordChecks
        What a record must satisfy.
    delivery : Delivery
        Where rejected records go.
    learner : Learner
        While it is full, no records are taken.
    summary : Summary
        The account of the run.
    within_s : float
        Seconds from arrival to the deadline of records that carry no deadline.
    clock : Clock, optional
        The time. Records without an arrival time arrive when they are read; without a clock, before that.

    Attributes
    ----------
    last_line : int
        Number of the last line that was read; 0 if records have no lines.
    rate : ArrivalRate
        How many records arrive per second.
    """

    def __init__(
        self,
        source: Source,
        queue: RecordQueue,
        checks: RecordChecks,
        delivery: Delivery,
        learner: Learner,
        summary: Summary,
        *,
        within_s: float = math.inf,
        clock: Clock | None = None,
    ) -> None:
        self._source = source
        self._broker: BrokerSource | None = source if is_broker(source) else None
        self._queue = queue
        self._checks = checks
        self._delivery = delivery
        self._learner = learner
        self._summary = summary
        self._within_s = within_s
        self._clock = clock
        self.last_line = 0
        self.rate = ArrivalRate()
        self._blocked_since: float | None = None
        self._sequence = 0
        self._read_to = -1  # records of an earlier run before this offset are finished, except these:
        self._unfinished: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def take(self, now: float, max_untimed: int = _MAX_POLL) -> Iterator[tuple[int, list[Records]]]:
        """Enqueue the records that are ready, in pieces; yield how many each had, and those that the queue evicted.

        Finish the evicted ones before the next piece: it will use their memory.

        Parameters
        ----------
        now : float
            The present instant.
        max_untimed : int
            Maximum number of records to read while they carry no arrival times and the queue blocks: the others wait in
            the source, where their time does not run.
        """
        max_records = self._max_records()
        if self._queue.overflow == "block" and self._summary.deadlines_from != "arrival" and self._within_s < math.inf:
            max_records = min(max_records, max(max_untimed - len(self._queue), 0))
        if self._is_blocked(now) or max_records < 1:
            if self._broker is not None:
                self._broker.poll(0)  # keeps the membership in its group alive
                self.remove_revoked()
            return
        in_pieces = max_records > _MAX_POLL and self._broker is None  # each poll of a broker costs a round trip
        n_taken, piece, more = 0, _PIECE if in_pieces else max_records, True
        while more and n_taken < max_records:
            wanted = min(piece, max_records - n_taken)
            n_polled, evicted = self._take_piece(now, wanted)
            n_taken += n_polled
            more = n_polled >= wanted
            yield n_polled, evicted
        self.rate.observe(n_taken, now)

    def _take_piece(self, now: float, max_records: int) -> tuple[int, list[Records]]:
        """Poll once, check the records and enqueue them; return how many there were, and those that were evicted."""
        records, rejected = self._poll(max_records)
        self.remove_revoked()
        n_polled = len(records) + len(rejected)
        if n_polled == 0:
            return 0, []
        self._summary.taken += n_polled
        self._delivery.reject(rejected)
        records, invalid = self._checks.split(records)
        self._delivery.reject(invalid)
        last = [records.line[-1] if len(records) else 0, *(found.line or 0 for found in rejected[-1:])]
        self.last_line = max(self.last_line, int(max(last)))
        self._stamp(records, now)
        return n_polled, self._queue.enqueue(records, now)

    def wait(self, seconds: float) -> None:
        """Return when records can be taken, and after `seconds` at the latest."""
        if self._learner.is_full:
            self._learner.wait(seconds)
        else:
            self._source.wait(seconds)

    def broker_state(self, finished: NDArray[np.int64] | None) -> dict[str, Any]:
        """Return what is finished in each partition of a broker, for a checkpoint.

        `finished` holds the records that will be acknowledged when the checkpoint is saved; None if the broker alone
        knows what is finished, because records are acknowledged when their answers are flushed.
        """
        assert self._broker is not None
        return {
            "fingerprint": self._broker.fingerprint(),
            "positions": None if finished is None else self._broker.positions(finished),
            "unfinished_labelled": _count_labelled(self._queue.records()),
        }

    def state(self) -> dict[str, Any]:
        """Return how far the source was read and which records are unfinished, for a checkpoint.

        ``resume_at`` is the offset of the first unfinished record, or else of the next one; ``read_to`` the offset up
        to which the source was read; ``fingerprint`` describes what was read; ``unfinished`` holds the offsets in
        between of the records that are not finished: those in the queue, of which ``unfinished_labelled`` carried a
        label, and those of an earlier run that this one has not taken again yet.
        """
        queued = self._queue.records()
        here = self._source.offset
        untaken = self._unfinished[self._unfinished >= here]
        offsets = np.sort(np.concatenate([queued.offset, untaken]))
        return {
            "resume_at": min(int(offsets[0]), here) if len(offsets) else here,
            "read_to": max(here, self._read_to),
            "fingerprint": self._source.fingerprint(),
            "unfinished": offsets.tolist(),
            "unfinished_labelled": _count_labelled(queued),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a `state`: unfinished records are taken again, finished ones are skipped.

        The summary must be restored before: the unfinished records are no longer counted as taken.
        """
        if ("positions" in state) != (self._broker is not None):
            raise ValueError(
                f"the run read {'a broker' if self._broker is None else 'a file'}; give the input of that run"
            )
        if self._broker is not None:
            self._broker.seek(0, state["fingerprint"])
            if state["positions"] is not None:
                self._broker.restore_positions(state["positions"])
            self._forget_unfinished(state)
            return
        self._source.seek(state["resume_at"], state["fingerprint"])
        self._read_to = state["read_to"]
        self._unfinished = np.array(state["unfinished"], dtype=np.int64)
        self._forget_unfinished(state)

    def _forget_unfinished(self, state: dict[str, Any]) -> None:
        self._summary.taken -= self._summary.waiting
        self._summary.labelled -= state["unfinished_labelled"]

    def remove_revoked(self) -> None:
        """Remove the records from the queue that belong to another consumer now; they count as never taken."""
        if self._broker is None:
            return
        revoked = self._broker.take_revoked()
        if len(revoked):
            queued = self._queue.records()
            removed = queued.take(np.isin(queued.offset, revoked))
            self._queue.remove(revoked)
            self._summary.taken -= len(removed)
            self._summary.labelled -= _count_labelled(removed)

    def _is_blocked(self, now: float) -> bool:
        """Whether too many records wait to be learned; the time of that is counted."""
        blocked = self._learner.is_full
        if self._blocked_since is not None:
            self._summary.learning_blocked_s += now - self._blocked_since
        self._blocked_since = now if blocked else None
        return blocked

    def _max_records(self) -> int:
        if self._queue.overflow == "block":
            return min(self._queue.free_slots, _MAX_POLL)
        return max(self._queue.capacity, _MAX_POLL)

    def _poll(self, max_records: int) -> PollResult:
        """Poll the source and leave out the records that an earlier run has finished."""
        polled = self._source.poll(max_records)
        read_to = self._read_to
        if read_to < 0:
            return polled
        new = (polled.records.offset >= read_to) | np.isin(polled.records.offset, self._unfinished)
        if self._source.offset >= read_to and new.all():
            self._read_to = -1
        return PollResult(
            polled.records.take(new), [rejected for rejected in polled.rejected if rejected.offset >= read_to]
        )

    def _stamp(self, records: Records, now: float) -> None:
        """Number the records, and set the arrivals and deadlines that the source left open."""
        self._summary.labelled += _count_labelled(records)
        records.sequence = np.arange(self._sequence, self._sequence + len(records), dtype=np.int64)
        self._sequence += len(records)
        untimed = np.isnan(records.arrival)
        if len(records) and self._within_s < math.inf:
            self._summary.deadlines_from = "taken" if untimed.any() else "arrival"
        if untimed.any():
            records.arrival = np.where(untimed, now if self._clock is None else self._clock.now(), records.arrival)
        records.deadline = np.where(np.isnan(records.deadline), records.arrival + self._within_s, records.deadline)


def _count_labelled(records: Records) -> int:
    return int(np.count_nonzero(is_given(records.label)))
