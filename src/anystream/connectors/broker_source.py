"""Base class of sources in brokers: messages become records, and answers and acknowledgements go back together."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.broker_address import BrokerAddress
from anystream.connectors.broker_retry import Retry, print_report
from anystream.connectors.json_lines import to_columns
from anystream.connectors.schema import Schema
from anystream.connectors.table_records import encode_records
from anystream.connectors.value_formats import Decoder, make_decoder
from anystream.runtime.contracts import PollResult
from anystream.runtime.records import Origin, Records, RejectedRecord, shorten

_OPTIONS = ("arrival", "max_skew", "idle", "avro_schema")


class OutMessage(NamedTuple):
    """A message to be written.

    Parameters
    ----------
    stream : str
        Topic, stream or subject.
    value : bytes or None
        The message.
    key : bytes, optional
        Its key, where the broker has keys.
    headers : tuple of (str, bytes)
        Its headers.
    identity : str, optional
        A text that is the same whenever the same message is sent again.
    """

    stream: str
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    identity: str | None = None


class Message:
    """A message in work.

    Parameters
    ----------
    partition : str
        Its partition; empty if the broker has none.
    position : object
        Its place in the partition.
    value : bytes or None
        Its content; None if `fields` hold the record.
    key, headers, time_s
        See `Origin`.
    fields : dict, optional
        Columns of its record, where the broker stores columns.
    handle : object, optional
        What the client needs to acknowledge it.
    reason : str, optional
        Why it goes to the dead letters without being looked at.

    Attributes
    ----------
    remaining : int
        Records of the message that are not finished.
    first : int
        Offset of the first of its records.
    outbox : list of OutMessage
        Answers and dead letters that are written together with its acknowledgement.
    """

    __slots__ = (
        "fields",
        "first",
        "handle",
        "headers",
        "key",
        "outbox",
        "partition",
        "position",
        "reason",
        "remaining",
        "time_s",
        "value",
    )

    def __init__(
        self,
        partition: str,
        position: Any,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: tuple[tuple[str, bytes], ...] = (),
        time_s: float | None = None,
        fields: dict[str, Any] | None = None,
        handle: Any = None,
        reason: str | None = None,
    ) -> None:
        self.partition = partition
        self.position = position
        self.value = value
        self.key = key
        self.headers = headers
        self.time_s = time_s
        self.fields = fields
        self.handle = handle
        self.reason = reason
        self.remaining = 0
        self.first = -1
        self.outbox: list[OutMessage] = []


class MessageSource(ABC):
    """Records from the messages of a broker; implements `anystream.runtime.contracts.BrokerSource`.

    Parameters
    ----------
    address : str or BrokerAddress
        The stream. Options of every broker: ``arrival`` (``taken``, the default; ``broker`` for the time at which the
        broker stored the message; ``header:NAME`` for seconds since 1970 in a header; ``field`` for the time column of
        the schema), ``max_skew`` (by how much such a time may lie in the future before it is counted as skewed, 1s by
        default; it is taken as now either way), ``idle`` (a time without messages after which the source is done; it
        counts while the broker can be reached, and is endless by default) and ``avro_schema``.
    schema : Schema
        The meaning of the columns.
    value_format : str, default="json"
        One of `anystream.connectors.value_formats.VALUE_FORMATS`.
    rename : mapping of str to str, optional
        Names of columns that stand for those of the schema.
    give_up_after_s : float, optional
        Seconds without the broker after which the run ends with an error; None for never.
    report : callable
        Called with a text when the broker goes away, when it is back, and when messages are lost.

    Attributes
    ----------
    skewed : int
        Messages whose time was further in the future than ``max_skew``.
    lost : int
        Messages that the broker removed before they were finished.
    """

    errors: ClassVar[tuple[type[BaseException], ...]] = (OSError,)
    refusals: ClassVar[tuple[type[BaseException], ...]] = ()
    options: ClassVar[tuple[str, ...]] = ()
    shares_outputs: ClassVar[bool] = False
    """Whether answers to the same broker can be written together with acknowledgements."""

    def __init__(
        self,
        address: str | BrokerAddress,
        schema: Schema,
        *,
        value_format: str = "json",
        rename: Mapping[str, str] | None = None,
        give_up_after_s: float | None = None,
        report: Callable[[str], None] = print_report,
    ) -> None:
        self.address = BrokerAddress.parse(address) if isinstance(address, str) else address
        self.address.check_options((*_OPTIONS, *self.options))
        self.schema = schema
        self._decode: Decoder = self._make_decoder(value_format)
        self._rename = dict(rename or {})
        self._inputs = frozenset(column.name for column in schema.columns)
        self._arrival = self.address.options.get("arrival", "taken")
        if self._arrival not in ("taken", "broker", "field") and not self._arrival.startswith("header:"):
            raise ValueError(
                f"{self.address}: the option arrival is {self._arrival!r}; use taken, broker, field or header:NAME"
            )
        self._max_skew_s = self.address.seconds("max_skew", 1.0) or 0.0
        self._idle_s = self.address.seconds("idle", None)
        self._last_message_at = time.monotonic()
        self._retry = Retry(
            str(self.address), self.errors, refusals=self.refusals, give_up_after_s=give_up_after_s, report=report
        )
        self._report = report
        self._in_flight: dict[int, Message] = {}
        self._fetched: list[Message] = []  # by `wait`
        self._ahead = Records.empty(schema.n_features)  # a message may hold more records than a poll may return
        self._revoked: list[int] = []
        self._finished_before: set[tuple[str, str]] = set()  # by a run whose checkpoint was restored
        self._finish: Callable[[], None] = lambda: None
        self.offset = 0
        self.skewed = 0
        self.lost = 0

    # -- for subclasses ----------------------------------------------------------------------------------------------

    @abstractmethod
    def _fetch(self, max_messages: int, wait_s: float) -> list[Message]:
        """Return messages that were not returned before, after at most `wait_s` seconds."""

    @abstractmethod
    def _acknowledge(self, messages: Sequence[Message]) -> None:
        """Write the outboxes of finished messages, and acknowledge the messages; a repeated call does no harm."""

    @abstractmethod
    def close(self) -> None:
        """Leave the group of consumers, and close the connection."""

    def _serve(self) -> None:  # noqa: B027  most brokers need nothing
        """Keep the connection alive while no message can be taken."""

    def _make_decoder(self, value_format: str) -> Decoder:
        return make_decoder(value_format, avro_schema=self.address.options.get("avro_schema"))

    def _group(self) -> str:
        """Return the name of the group of consumers."""
        return self.address.options.get("group", "anystream")

    def _revoke(self, partitions: Iterable[str]) -> None:
        """Forget the messages of partitions that belong to another consumer now."""
        gone = set(partitions)
        revoked = [offset for offset, message in self._in_flight.items() if message.partition in gone]
        for offset in revoked:
            del self._in_flight[offset]
        self._ahead = self._ahead.take(~np.isin(self._ahead.offset, revoked))
        self._fetched = [message for message in self._fetched if message.partition not in gone]
        self._revoked += revoked

    # -- the contract ------------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether no message came for the time of the option ``idle``, in which the broker could be reached."""
        return (
            self._idle_s is not None
            and not self._fetched
            and len(self._ahead) == 0
            and not self._retry.away
            and time.monotonic() - max(self._last_message_at, self._retry.reached_at) >= self._idle_s
        )

    def poll(self, max_records: int) -> PollResult:
        """Return the next records; with 0, only keep the connection alive."""
        if max_records < 1:
            self._retry.attempt(self._serve)
            return PollResult(Records.empty(self.schema.n_features))
        rejected: list[RejectedRecord] = []
        if len(self._ahead) == 0:
            messages, self._fetched = self._fetched[:max_records], self._fetched[max_records:]
            if not messages:
                messages = self._retry.attempt(lambda: self._fetch(max_records, 0.0)) or []
            if messages:
                self._last_message_at = time.monotonic()
                self._ahead, rejected = self._to_records(self._skip_finished(messages))
        records = self._ahead.take(slice(max_records))
        self._ahead = self._ahead.take(slice(max_records, None))
        return PollResult(records, rejected)

    def wait(self, seconds: float) -> None:
        """Return when messages came, and after `seconds` at the latest."""
        if self._fetched or len(self._ahead):
            return
        began = time.monotonic()
        self._fetched = self._retry.attempt(lambda: self._fetch(1024, seconds)) or []
        if self._retry.away:
            time.sleep(max(seconds - (time.monotonic() - began), 0.0))

    def fingerprint(self) -> dict[str, Any]:
        """Return which stream is read, and by which group."""
        return {"broker": self.address.scheme, "stream": self.address.stream, "group": self._group()}

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Compare the stream with that of a checkpoint: the broker itself knows where to continue."""
        if fingerprint is not None and fingerprint != self.fingerprint():
            raise ValueError(f"{self.address} is not the stream that the run has read; give {fingerprint}")

    def acknowledge(self, offset: int) -> None:  # noqa: B027  no subclass has anything to do
        """Do nothing: records are acknowledged one by one."""

    def acknowledge_records(self, offsets: NDArray[np.int64]) -> None:
        """Acknowledge the messages whose last records these are, together with their answers."""
        finished: list[Message] = []
        for offset in offsets.tolist():
            message = self._in_flight.pop(offset, None)
            if message is not None:  # else it was revoked
                message.remaining -= 1
                if message.remaining == 0:
                    finished.append(message)
        if finished:
            self._retry.call(lambda: self._acknowledge(finished))

    def find_origin(self, offset: int) -> Origin | None:
        """Return the message of a record that is in work."""
        message = self._in_flight.get(offset)
        return None if message is None else self.to_origin(message)

    def take_revoked(self) -> NDArray[np.int64]:
        """Return the offsets of records that belong to another consumer now, each once."""
        revoked = self._revoked
        self._revoked = []
        return np.array(revoked, dtype=np.int64)

    def before_revoke(self, finish: Callable[[], None]) -> None:
        """Call `finish` before a partition is handed to another consumer."""
        self._finish = finish

    def positions(self, finished: NDArray[np.int64]) -> dict[str, Any]:
        """Return the messages that are finished and perhaps not acknowledged, by partition.

        These are the messages that will be acknowledged with these records, and those that a restored checkpoint calls
        finished, until they come again: a run may end before that, too.
        """
        found = self._finished_before | {(each.partition, str(each.position)) for each in self._find_finished(finished)}
        positions: dict[str, list[str]] = {}
        for partition, position in sorted(found):
            positions.setdefault(partition, []).append(position)
        return positions

    def restore_positions(self, positions: dict[str, Any]) -> None:
        """Acknowledge these messages without an answer when they come again: their answers are safe."""
        self._finished_before = {(partition, position) for partition, found in positions.items() for position in found}

    def attach(self, offset: int, message: OutMessage) -> None:
        """Write a message together with the acknowledgement of a record; of a revoked record, write nothing."""
        found = self._in_flight.get(offset)
        if found is not None:
            found.outbox.append(message)

    def is_in_work(self, offset: int) -> bool:
        """Whether a record was polled and neither acknowledged nor revoked."""
        return offset in self._in_flight

    def identify(self, offset: int) -> str:
        """Return a text for a record in work that is the same at every delivery of its message."""
        message = self._in_flight[offset]
        return f"{self.to_origin(message).identity}#{offset - message.first}"

    def to_origin(self, message: Message) -> Origin:
        """Return where a message came from."""
        return Origin(
            self.address.scheme,
            self.address.stream,
            message.partition,
            str(message.position),
            message.value,
            message.key,
            message.headers,
            message.time_s,
        )

    # -- details -----------------------------------------------------------------------------------------------------

    def _find_finished(self, finished: NDArray[np.int64]) -> list[Message]:
        """Return the messages whose remaining records are all among these."""
        counts: dict[int, int] = {}
        found: dict[int, Message] = {}
        for offset in finished.tolist():
            message = self._in_flight.get(offset)
            if message is not None:
                counts[id(message)] = counts.get(id(message), 0) + 1
                found[id(message)] = message
        return [message for key, message in found.items() if counts[key] == message.remaining]

    def _skip_finished(self, messages: list[Message]) -> list[Message]:
        """Acknowledge messages that a restored checkpoint calls finished; return the others."""
        if not self._finished_before:
            return messages
        finished: list[Message] = []
        others: list[Message] = []
        for message in messages:
            place = (message.partition, str(message.position))
            (finished if place in self._finished_before else others).append(message)
        if finished:
            self._retry.call(lambda: self._acknowledge(finished))
            self._finished_before.difference_update((each.partition, str(each.position)) for each in finished)
        return others

    def _to_records(self, messages: Sequence[Message]) -> tuple[Records, list[RejectedRecord]]:
        rejected: list[RejectedRecord] = []
        rows: list[tuple[int, Message]] = []
        objects: list[dict[str, Any]] = []
        for message in messages:
            try:
                found = self._read_message(message)
            except ValueError as error:
                message.remaining = 1
                rejected.append(self._reject(self._number(message), message, str(error)))
                continue
            message.remaining = len(found)
            rows += [(self._number(message), message) for _ in found]
            objects += found
        if not rows:
            return Records.empty(self.schema.n_features), rejected
        names = self.schema.used_names or list(dict.fromkeys(name for found in objects for name in found))
        offsets = np.array([offset for offset, _ in rows], dtype=np.int64)
        records, malformed = encode_records(
            self.schema,
            to_columns(objects, names),
            offsets,
            default_key=np.fromiter((self._default_key(message) for _, message in rows), object, len(rows)),
            show=lambda row: str(objects[row]),
        )
        rejected += [
            found._replace(origin=self.to_origin(self._in_flight[found.offset]), record=shorten(found.record))
            for found in malformed
        ]
        self._set_arrivals(records)
        return records, rejected

    def _number(self, message: Message) -> int:
        """Give the next record its number."""
        offset = self.offset
        self.offset += 1
        self._in_flight[offset] = message
        if message.first < 0:
            message.first = offset
        return offset

    def _read_message(self, message: Message) -> list[dict[str, Any]]:
        """Return the records of a message; ValueError if it is malformed."""
        if message.reason is not None:
            raise ValueError(message.reason)
        objects = [message.fields] if message.value is None else self._decode(message.value)
        found: list[dict[str, Any]] = []
        for columns in objects:
            if columns is None:
                raise ValueError("the message is empty")
            for old, new in self._rename.items():
                if old in columns and new not in columns:
                    columns[new] = columns[old]
            if self._inputs and self._inputs.isdisjoint(columns):
                raise ValueError(
                    f"the record has no column of the model, which are {shorten(', '.join(sorted(self._inputs)))}"
                )
            found.append(columns)
        return found

    def _reject(self, offset: int, message: Message, reason: str) -> RejectedRecord:
        shown = str(message.fields) if message.value is None else message.value.decode("utf-8", "replace")
        return RejectedRecord(reason, offset, None, None, shorten(shown), self.to_origin(message))

    def _default_key(self, message: Message) -> str:
        if message.key is not None:
            return message.key.decode("utf-8", "backslashreplace")
        return ":".join(filter(None, (message.partition, str(message.position))))

    def _set_arrivals(self, records: Records) -> None:
        """Set the arrivals, in seconds of the monotonic clock, from the times that the messages have."""
        if self._arrival == "taken":
            records.arrival = np.full(len(records), np.nan)
            return
        if self._arrival == "field":
            times = records.arrival
        else:
            times = np.array([self._read_time(self._in_flight[offset]) for offset in records.offset.tolist()])
            times = times.astype(np.float64)
        now = time.monotonic()
        arrival = times + (now - time.time())
        ahead_s = arrival - now
        self.skewed += int(np.count_nonzero(ahead_s > self._max_skew_s))
        records.arrival = np.where(ahead_s > 0.0, now, arrival)

    def _read_time(self, message: Message) -> float:
        """Return when a message was stored or sent, in seconds since 1970; NaN if that is unknown."""
        if self._arrival == "broker":
            return float("nan") if message.time_s is None else message.time_s
        name = self._arrival.removeprefix("header:")
        try:
            return float(dict(message.headers)[name])
        except (KeyError, ValueError):
            return float("nan")
