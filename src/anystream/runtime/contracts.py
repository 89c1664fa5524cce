"""Contracts between the engine and the outside world: sources of records and labels, sinks of answers.

Nothing is implemented here; `anystream.connectors` has one file per system that implements them. An offset is an
integer whose meaning belongs to its source: the row of a table, the byte of a file. Records of a broker come from
partitions that are assigned and revoked while a run goes on, and overtake each other by their deadlines: there the
offset is a number that the process gives, and every record is acknowledged by itself (`BrokerSource`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.records import Origin, Records, RejectedRecord, printable_key, show_value


class PollResult(NamedTuple):
    """What a source had ready: well-formed records, and malformed ones with the reason."""

    records: Records
    rejected: Sequence[RejectedRecord] = ()


class Source(Protocol):
    """A source of records.

    A source guarantees: `poll` does not block; records come in the order of their offsets, which rise; after `seek(o)`
    the record at offset o is the next one again, as long as it has not been acknowledged. It may not rely on `close`
    being called, nor on anything between two acknowledgements being read only once.

    A checkpoint stores the fingerprint of a source, so that a run never continues with another input.

    A source of records without arrival times may have an attribute ``always_ready``, True if all records are there from
    the start, as in a file: the engine then reads only as many as can have all their steps by the deadline.
    """

    @property
    def offset(self) -> int:
        """Where the next record begins."""

    @property
    def done(self) -> bool:
        """Whether no further record will ever come."""

    def poll(self, max_records: int) -> PollResult:
        """Return at most `max_records` records that are ready now, malformed ones included, without blocking."""

    def wait(self, seconds: float) -> None:
        """Return when records may be ready, and after `seconds` at the latest."""

    def fingerprint(self) -> dict[str, Any]:
        """Return JSON values that describe everything read so far, such as its length and hash, for `seek`."""

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from `offset`.

        With a `fingerprint`, first check that the source begins with what it describes, more may follow; otherwise
        raise ValueError with the name of the source.
        """

    def acknowledge(self, offset: int) -> None:
        """Note that every record before `offset` is classified and its answer safe: the source may forget it."""

    def close(self) -> None:
        """Release files and connections."""


class BrokerSource(Source, Protocol):
    """A source whose messages are acknowledged one by one, in any order, and whose partitions come and go.

    The offset of a record is a number that rises within the process. `poll` must be called again and again, with 0
    while no record can be taken: it keeps the membership in the group of consumers alive. A record that was polled and
    not acknowledged comes again, here or at another consumer.

    Where the broker keeps one position per partition, as Kafka does, the source turns the acknowledged records into the
    lowest unfinished position of each, with `anystream.runtime.partition_progress`.
    """

    def acknowledge_records(self, offsets: NDArray[np.int64]) -> None:
        """Note in the broker that these records are finished: their answers or dead letters are safe."""

    def find_origin(self, offset: int) -> Origin | None:
        """Return the message of a record; None once it is acknowledged."""

    def take_revoked(self) -> NDArray[np.int64]:
        """Return the offsets of polled records that belong to another consumer now, each once."""

    def before_revoke(self, finish: Callable[[], None]) -> None:
        """Call `finish`, which acknowledges all finished records, before a partition is handed to another consumer."""

    def positions(self, finished: NDArray[np.int64]) -> dict[str, Any]:
        """Return JSON values for a checkpoint: what will be finished when these records are, by partition."""

    def restore_positions(self, positions: dict[str, Any]) -> None:
        """Skip and acknowledge the messages that `positions` of a checkpoint call finished, when they come again."""


def is_broker(source: object) -> TypeGuard[BrokerSource]:
    """Whether a source acknowledges record by record."""
    return hasattr(source, "acknowledge_records")


def is_append_only(output: object) -> bool:
    """Whether nothing can be removed from where answers or dead letters are written."""
    return bool(getattr(output, "append_only", False))


class AnsweredRecords(NamedTuple):
    """Classified records in columns, as a sink receives them.

    Parameters
    ----------
    key : array of shape (n,)
        The keys of the records.
    label : array of shape (n,)
        The most probable class of each record.
    proba : array of shape (n, n_classes)
        Probabilities in the order of `classes`.
    classes : array of shape (n_classes,)
        The class of each column of `proba`.
    steps : array of shape (n,)
        Steps that each answer took.
    certified : array of shape (n,)
        True where no further step could change the label.
    waited_s : array of shape (n,)
        Seconds from arrival to answer.
    late : array of shape (n,)
        True where the answer came after its deadline.
    unknown : array of shape (n,), optional
        True where something in the record was unknown and counted as missing, such as a new category.
    kept : array of shape (n,), optional
        Cells of the record that the answer carries, a tuple each.
    offset : array of shape (n,), optional
        Where each record begins in its source.
    reached : array of shape (n,), optional
        False where the time was over before the classifier began with the record: the answer is that of the classes
        alone.
    confident : array of shape (n,), optional
        True where a test of the classifier ended the work, at a stated rate of error; not certified.
    """

    key: NDArray[Any]
    label: NDArray[Any]
    proba: NDArray[np.float64]
    classes: NDArray[Any]
    steps: NDArray[np.int64]
    certified: NDArray[np.bool_]
    waited_s: NDArray[np.float64]
    late: NDArray[np.bool_]
    unknown: NDArray[np.bool_] | None = None
    kept: NDArray[Any] | None = None
    offset: NDArray[np.int64] | None = None
    reached: NDArray[np.bool_] | None = None
    confident: NDArray[np.bool_] | None = None


class Durable(Protocol):
    """What a checkpoint needs of everything that the engine writes to.

    A broker, from which nothing can be removed, has the attribute ``append_only``, True: records are then acknowledged
    when their answers are flushed, and do not wait for a checkpoint.
    """

    def flush(self) -> None:
        """Hand everything written to the system: after this it survives the end of the process."""

    def mark(self, *, complete: bool) -> dict[str, Any]:
        """Flush, and return JSON values by which `rewind` finds this position again, such as the length and a hash.

        `complete` says that nothing will be written after the mark.
        """

    def sync(self) -> None:
        """Write everything that was flushed to disk. Another thread may write and flush in the meantime."""

    def rewind(self, mark: dict[str, Any] | None) -> None:
        """Remove what was written after `mark`; with None, the run has written nothing yet.

        With this, no answer is written twice after a restart. Nothing that the run did not write may be removed: if the
        content before the mark is not that of the run, or if there is more after a complete mark, raise ValueError. A
        sink that cannot remove anything (standard output) raises; a sink that stores by key (a database) may do
        nothing, because writing the same key again changes nothing.
        """

    def close(self) -> None:
        """Flush, and release files and connections."""


class Sink(Durable, Protocol):
    """A destination of answers: each is written once in an undisturbed run, in the order in which they are given."""

    def write(self, answers: AnsweredRecords) -> None:
        """Write answers; they are safe after the next `flush`.

        Raise `RecordError`, and write none of them, if one of the answers cannot be encoded: the engine then searches
        for it, sends its record to the dead letters and writes the others.
        """


class DeadLetters(Durable, Protocol):
    """A destination of records that were not classified, with the reason."""

    def write(self, rejected: Sequence[RejectedRecord]) -> None:
        """Write rejected records; they are safe after the next `flush`."""


class LateLabel(NamedTuple):
    """A label that arrives after its record.

    Parameters
    ----------
    key : object
        The key of the record.
    label : object
        Its class.
    offset : int
        Where the label begins in its source; -1 if that is unknown.
    line : int, optional
        Its line number, from 1, if it came from lines of text.
    """

    key: Any
    label: Any
    offset: int = -1
    line: int | None = None

    def reject(self, reason: str) -> RejectedRecord:
        """Return the label as a rejected record."""
        shown = f"{show_value(self.key)}: {show_value(self.label)}"
        return RejectedRecord(reason, self.offset, self.line, printable_key(self.key), shown)


class LabelPollResult(NamedTuple):
    """What a label source had ready: labels, and malformed label records with the reason."""

    labels: Sequence[LateLabel]
    rejected: Sequence[RejectedRecord] = ()


class LabelSource(Protocol):
    """A source of labels that arrive after their records. The guarantees are those of `Source`.

    It may have an attribute ``broker``, the `BrokerSource` whose messages hold the labels: they are acknowledged when
    the checkpoint that knows them is saved, or without checkpoints when they are taken.
    """

    @property
    def offset(self) -> int:
        """Where the next label begins."""

    @property
    def done(self) -> bool:
        """Whether no further label will ever come."""

    def poll(self, max_labels: int) -> LabelPollResult:
        """Return at most `max_labels` labels that are ready now, malformed ones included, without blocking."""

    def fingerprint(self) -> dict[str, Any]:
        """Return JSON values that describe everything read so far, for `seek`."""

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from `offset`, after comparing the source with the `fingerprint`, if there is one."""

    def close(self) -> None:
        """Release files and connections."""
