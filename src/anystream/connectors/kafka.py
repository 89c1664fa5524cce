"""Kafka as a source and a sink; needs ``anystream[kafka]``.

Kafka keeps one position per partition for a group of consumers. Records overtake each other here, so what is committed
is the lowest unfinished position, and beside it, in the metadata of the commit, the finished positions above it
(`anystream.runtime.partition_progress`): the next consumer skips them. Answers to the same cluster and the commit are
one transaction, which readers with the isolation level ``read_committed`` see whole or not at all.
"""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.broker_address import BrokerAddress
from anystream.connectors.broker_sink import Publisher
from anystream.connectors.broker_source import Message, MessageSource, OutMessage
from anystream.connectors.kafka_client import (
    TIMEOUT_S,
    ClientErrors,
    KafkaAwayError,
    KafkaRefusedError,
    kafka,
    read_settings,
)
from anystream.connectors.kafka_transactions import AnswerTransactions
from anystream.connectors.schema import Schema
from anystream.connectors.value_formats import Decoder, make_decoder
from anystream.runtime.partition_progress import PartitionProgress

_SLICE_S = 0.1  # of waiting, after which errors are looked at
_FENCED_AFTER_S = 60.0  # after the cluster was away, it may take a consumer for another one of the same name

# a consumer tells a fatal error as the code _FATAL, with the text of the cause
_FENCED_CONSUMER = kafka.KafkaError(kafka.KafkaError.FENCED_INSTANCE_ID).str()


class KafkaSource(MessageSource):
    """Records from a Kafka topic, read as a member of a group.

    Parameters
    ----------
    address : str or BrokerAddress
        Such as ``kafka://localhost:9092/events?group=g``. Options beside those of every broker: ``group``;
        ``consumer``, the name of this one, which a restarted process should keep, so that it has its partitions back at
        once and its unfinished transaction is aborted at once; ``session_timeout``, the time after which a silent
        member loses its partitions (10s); ``start``, where a new group begins (``earliest`` or ``latest``); ``sasl``,
        the mechanism; ``settings``, a file of further settings of librdkafka; ``registry``, the address of a schema
        registry.
    schema, value_format, rename, give_up_after_s, report
        See `MessageSource`.

    Attributes
    ----------
    lag : int
        Messages of the assigned partitions that were not fetched yet.
    """

    errors: ClassVar[tuple[type[BaseException], ...]] = (KafkaAwayError,)
    refusals: ClassVar[tuple[type[BaseException], ...]] = (KafkaRefusedError,)
    options: ClassVar[tuple[str, ...]] = (
        "group",
        "consumer",
        "session_timeout",
        "start",
        "sasl",
        "settings",
        "registry",
    )
    shares_outputs: ClassVar[bool] = True

    def __init__(self, address: str | BrokerAddress, schema: Schema, **options: Any) -> None:
        super().__init__(address, schema, **options)
        given = self.address.options
        settings = read_settings(self.address)
        name = given.get("consumer")
        self._identity = name or f"{socket.gethostname()}-{os.getpid()}"
        self._session_s = session_s = self.address.seconds("session_timeout", 10.0) or 10.0
        self._errors = ClientErrors()
        self._settings = (
            settings
            | {
                "error_cb": self._errors.note,
                "group.id": self._group(),
                "client.id": self._identity,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": given.get("start", "earliest"),
                "partition.assignment.strategy": "cooperative-sticky",
                "isolation.level": "read_committed",
                "session.timeout.ms": int(session_s * 1000),
                "heartbeat.interval.ms": max(int(session_s * 1000) // 4, 250),
                "allow.auto.create.topics": False,
                "enable.partition.eof": True,
            }
            | ({} if name is None else {"group.instance.id": name})
        )
        self._transactions = AnswerTransactions(settings, f"{self._group()}-{self.address.stream}-{self._identity}")
        self._progress: dict[str, PartitionProgress] = {}
        self._held: list[Message] = []  # of partitions in which too many positions are open
        self._paused = False
        self._to_rewind: set[str] = set()
        self._at_end: set[str] = set()  # partitions that were read to their end
        self._is_member = False
        self._closing = False
        self._failure: BaseException | None = None
        self._restored: dict[str, tuple[int, str]] = {}
        self._away_at = -math.inf
        self._consumer = self._subscribe()

    # -- the contract ------------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether no message came for the time of the option ``idle``, since all partitions were read to their end.

        A member without partitions waits for the time in which the group notices that others have left it.
        """
        if not self._is_member or not self._at_end.issuperset(self._progress):
            return False
        has_waited = bool(self._progress) or time.monotonic() - self._last_message_at >= self._session_s
        return has_waited and super().done

    @property
    def lag(self) -> int:
        """Messages of the assigned partitions that were not fetched yet."""
        total = 0
        for partition, progress in self._progress.items():
            _, high = self._consumer.get_watermark_offsets(self._partition(partition), timeout=5.0)
            total += max(high - progress.read_to, 0)
        return total

    def positions(self, finished: NDArray[np.int64]) -> dict[str, Any]:
        """Return, for each partition, its lowest unfinished position and the finished ones above it.

        A partition that is not assigned has the positions of the restored checkpoint, until the group assigns it.
        """
        by_partition: dict[str, set[int]] = {}
        for message in self._find_finished(finished):
            by_partition.setdefault(message.partition, set()).add(message.position)
        here = {name: list(found.after(by_partition.get(name, set()))) for name, found in self._progress.items()}
        return {name: list(found) for name, found in self._restored.items()} | here

    def restore_positions(self, positions: dict[str, Any]) -> None:
        """Continue from these positions in the partitions that this consumer was the last to commit."""
        self._restored = {name: (low, finished) for name, (low, finished) in positions.items()}

    def close(self) -> None:
        """Leave the group."""
        self._closing = True
        self._consumer.close()

    # -- messages ----------------------------------------------------------------------------------------------------

    def _subscribe(self) -> Any:
        """Return a new consumer that joins the group."""
        consumer = kafka.Consumer(self._settings)
        consumer.subscribe(
            [self.address.stream],
            on_assign=self._guard(self._on_assign),
            on_revoke=self._guard(self._on_revoke),
            on_lost=self._guard(self._on_lost),
        )
        return consumer

    def _renew_consumer(self) -> None:
        """Join the group again after a fatal error; raise it, unless a cluster that was away is the cause.

        A cluster that ends while a consumer joins knows its name and not the identity that it gave to it then, and so
        takes it for another process.
        """
        fatal, self._errors.fatal = self._errors.fatal, None
        if fatal is None:
            return
        is_fenced = _FENCED_CONSUMER in fatal.str()
        if not is_fenced or time.monotonic() - self._away_at > _FENCED_AFTER_S:
            self._errors.fatal = fatal
            raise ValueError(
                f"{self.address}: {fatal.str()}"
                if not is_fenced
                else f"{self.address}: another process has the name {self._identity!r} in the group {self._group()!r}; "
                "give each its own with the option consumer"
            )
        self._forget(list(self._progress))
        self._is_member = self._paused = False
        self._consumer.close()
        self._consumer = self._subscribe()

    def _away(self, text: str) -> KafkaAwayError:
        """Return the error for a cluster that does not answer, and note when that was."""
        self._away_at = time.monotonic()
        return KafkaAwayError(text)

    def _make_decoder(self, value_format: str) -> Decoder:
        url = self.address.options.get("registry")
        read_schema = None
        if url is not None:
            from anystream.connectors.schema_registry import SchemaRegistry

            read_schema = SchemaRegistry(url, lambda call: self._retry.call(call)).read_schema
        return make_decoder(value_format, avro_schema=self.address.options.get("avro_schema"), read_schema=read_schema)

    def _fetch(self, max_messages: int, wait_s: float) -> list[Message]:
        self._renew_consumer()
        self._pause(False)
        messages = self._rewind()
        if messages:
            return messages
        held, self._held = self._held, []
        found: list[Message] = []
        for message in held:
            progress = self._progress[message.partition]
            if progress.is_wide or len(found) == max_messages:
                self._held.append(message)
            else:
                progress.take(message.position)
                found.append(message)
        if found or self._held:
            return found
        messages = self._read(max_messages, wait_s)
        self._errors.raise_refusal()
        if not messages and (self._retry.away or self._errors.down):
            self._errors.down = False
            self._require_topic()
        return messages

    def _require_topic(self) -> None:
        """Raise if the cluster does not answer, or has no such topic: the client itself says so only once."""
        try:
            found = self._consumer.list_topics(self.address.stream, timeout=1.0).topics[self.address.stream]
        except kafka.KafkaException as error:
            raise self._away(self._errors.last or error.args[0].str()) from error
        if found.error is not None:
            raise self._to_error(found.error)

    def _read(self, max_messages: int, wait_s: float) -> list[Message]:
        """Return messages that are not finished; raise an error between them if there are none, else look for it later.

        The client tells each error once, a fatal one too, perhaps in the middle of messages.
        """
        messages: list[Message] = []
        failure: Exception | None = None
        for raw in self._consume(max_messages, wait_s):
            error = raw.error()
            if error is None:
                self._at_end.discard(str(raw.partition()))
                read = self._to_message(raw)
                if read is not None:
                    messages.append(read)
            elif self._errors.is_fatal(error):
                self._errors.fatal = error  # for the next call of `_renew_consumer`
            elif error.code() == kafka.KafkaError._PARTITION_EOF:
                self._at_end.add(str(raw.partition()))
                self._last_message_at = time.monotonic()
            else:
                failure = self._to_error(error)
        if failure is not None:
            if not messages:
                raise failure
            self._errors.down = True
        return messages

    def _consume(self, max_messages: int, wait_s: float) -> list[Any]:
        """Return messages of the client, after the callbacks for partitions have run; raise what those raised."""
        try:
            found: list[Any] = self._consumer.consume(max_messages, timeout=wait_s)
        except kafka.KafkaException as error:
            if not self._errors.is_fatal(error.args[0]):
                raise
            self._errors.fatal, found = error.args[0], []
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return found

    def _guard(self, callback: Callable[[Any, Sequence[Any]], None]) -> Callable[[Any, Sequence[Any]], None]:
        """Return a callback that keeps its error for `_consume`: the client cannot pass it on."""

        def guarded(consumer: Any, partitions: Sequence[Any]) -> None:
            try:
                callback(consumer, partitions)
            except BaseException as error:
                self._failure = error

        return guarded

    def _serve(self) -> None:
        self._pause(True)
        self._renew_consumer()
        self._fetched += self._read(1, 0.0)  # callbacks run in here; a paused partition has no messages

    def _to_message(self, raw: Any) -> Message | None:
        """Return a message; None if it is finished, or its partition is not read."""
        partition, position = str(raw.partition()), raw.offset()
        progress = self._progress.get(partition)
        if progress is None or partition in self._to_rewind:
            return None
        if progress.is_finished(position):
            progress.skip(position)
            return None
        kind, milliseconds = raw.timestamp()
        message = Message(
            partition,
            position,
            raw.value() or b"",
            key=raw.key(),
            headers=tuple((name, value or b"") for name, value in raw.headers() or ()),
            time_s=None if kind == kafka.TIMESTAMP_NOT_AVAILABLE else milliseconds / 1000,
        )
        if progress.is_wide or any(held.partition == partition for held in self._held):
            self._held.append(message)
            return None
        progress.take(position)
        return message

    def _to_error(self, error: Any) -> Exception:
        if error.code() in (kafka.KafkaError.UNKNOWN_TOPIC_OR_PART, kafka.KafkaError._UNKNOWN_TOPIC):
            return KafkaAwayError(f"there is no topic {self.address.stream} ({error.str()})")
        return KafkaAwayError(error.str())

    def _pause(self, wanted: bool) -> None:
        wanted = wanted or len(self._held) > 0
        if wanted != self._paused:
            self._paused = wanted
            partitions = [self._partition(name) for name in self._progress]
            (self._consumer.pause if wanted else self._consumer.resume)(partitions)

    def _partition(self, name: str, position: int | None = None, metadata: str | None = None) -> Any:
        if position is None:
            return kafka.TopicPartition(self.address.stream, int(name))
        if metadata is None:
            return kafka.TopicPartition(self.address.stream, int(name), position)
        return kafka.TopicPartition(self.address.stream, int(name), position, metadata)

    # -- acknowledgements --------------------------------------------------------------------------------------------

    def _acknowledge(self, messages: Sequence[Message]) -> None:
        """Write answers and commit in one transaction; without answers here, commit alone."""
        messages = [message for message in messages if message.partition in self._progress]
        if not messages:
            return
        by_partition: dict[str, set[int]] = {}
        for message in messages:
            by_partition.setdefault(message.partition, set()).add(message.position)
        commits = []
        for name, positions in by_partition.items():
            low, finished = self._progress[name].after(positions)
            commits.append(self._partition(name, low, f"{self._identity} {finished}"))
        try:
            if any(message.outbox for message in messages):
                answers = [answer for message in messages for answer in message.outbox]
                self._transactions.commit(answers, commits, self._consumer)
            else:
                self._consumer.commit(offsets=commits, asynchronous=False)
        except kafka.KafkaException as error:
            found = error.args[0]
            if self._has_lost(found):
                self._rewind_after_loss(list(by_partition))
                return
            raise self._away(found.str()) from error
        for message in messages:
            self._progress[message.partition].finish(message.position)

    @staticmethod
    def _has_lost(error: Any) -> bool:
        """Whether a commit failed because the group has given the partitions to others, or fenced this consumer."""
        codes = kafka.KafkaError
        return error.code() in (
            codes.ILLEGAL_GENERATION,
            codes.UNKNOWN_MEMBER_ID,
            codes.REBALANCE_IN_PROGRESS,
            codes.FENCED_INSTANCE_ID,
            codes._ASSIGNMENT_LOST,
            codes._FATAL,
        )

    # -- partitions --------------------------------------------------------------------------------------------------

    def _on_assign(self, consumer: Any, partitions: Sequence[Any]) -> None:
        if self._closing:
            consumer.incremental_assign(list(partitions))
            return
        committed = self._retry.call(lambda: self._read_committed(list(partitions)))
        starts = [self._start(str(found.partition), found.offset, found.metadata or "") for found in committed]
        consumer.incremental_assign(starts)
        self._paused, self._is_member = False, True
        self._last_message_at = time.monotonic()

    def _read_committed(self, partitions: list[Any]) -> list[Any]:
        """Return where the group stands in partitions."""
        try:
            found: list[Any] = self._consumer.committed(partitions, timeout=TIMEOUT_S)
        except kafka.KafkaException as error:
            raise KafkaAwayError(error.args[0].str()) from error
        for partition in found:
            if partition.error is not None:
                raise KafkaAwayError(partition.error.str())
        return found

    def _start(self, name: str, offset: int, metadata: str) -> Any:
        """Return where to read a partition from: where its group has left off, or where a checkpoint says."""
        owner, _, finished = metadata.partition(" ")
        restored = self._restored.pop(name, None)
        if restored is not None and (offset < 0 or owner == self._identity):
            offset, finished = restored
        if offset < 0:
            low, high = self._consumer.get_watermark_offsets(self._partition(name), timeout=TIMEOUT_S)
            offset, finished = (high if self.address.options.get("start") == "latest" else low), ""
        self._progress[name] = PartitionProgress(offset, finished)
        self._at_end.discard(name)
        return self._partition(name, offset)

    def _on_revoke(self, consumer: Any, partitions: Sequence[Any]) -> None:
        names = [str(found.partition) for found in partitions]
        self._finish()  # commits what is finished, while the partitions are still ours
        self._forget(names)
        consumer.incremental_unassign(list(partitions))

    def _on_lost(self, consumer: Any, partitions: Sequence[Any]) -> None:
        self._forget([str(found.partition) for found in partitions])
        consumer.incremental_unassign(list(partitions))

    def _forget(self, names: Sequence[str]) -> None:
        self._revoke(names)
        self._held = [message for message in self._held if message.partition not in names]
        for name in names:
            self._progress.pop(name, None)
            self._to_rewind.discard(name)
            self._at_end.discard(name)
        self._last_message_at = time.monotonic()  # the group assigns them again

    def _rewind_after_loss(self, names: Sequence[str]) -> None:
        """Take the messages of partitions again from where the group stands: their answers were not written."""
        self._revoke(names)
        self._held = [message for message in self._held if message.partition not in names]
        self._to_rewind.update(names)
        self._at_end.difference_update(names)

    def _rewind(self) -> list[Message]:
        """Read the partitions again that a failed transaction concerned, if they are still assigned.

        Return messages of other partitions that came before that was possible.
        """
        names = [name for name in self._to_rewind if name in self._progress]
        if not names:
            self._to_rewind.clear()
            return []
        try:
            for found in self._read_committed([self._partition(name) for name in names]):
                self._consumer.seek(self._start(str(found.partition), found.offset, found.metadata or ""))
        except kafka.KafkaException as error:
            messages = self._read(1, 0.0)  # tells a fatal error, if that is the cause
            if not messages and self._errors.fatal is None:
                raise KafkaAwayError(error.args[0].str()) from error
            return messages
        self._to_rewind.clear()
        return []


class KafkaPublisher(Publisher):
    """Messages to a Kafka topic.

    Parameters
    ----------
    address : str or BrokerAddress
        Such as ``kafka://localhost:9092/answers``. Options: ``sasl`` and ``settings``, as for `KafkaSource`.
    give_up_after_s, report
        See `Publisher`.
    """

    errors: ClassVar[tuple[type[BaseException], ...]] = (KafkaAwayError,)
    refusals: ClassVar[tuple[type[BaseException], ...]] = (KafkaRefusedError,)
    options: ClassVar[tuple[str, ...]] = ("sasl", "settings")

    def __init__(self, address: str | BrokerAddress, **options: Any) -> None:
        super().__init__(address, **options)
        self._errors = ClientErrors()
        self._settings = read_settings(self.address) | {
            "enable.idempotence": True,
            "linger.ms": 5,
            "message.timeout.ms": int(TIMEOUT_S * 1000),
            "error_cb": self._errors.note,
        }
        self._producer: Any = None
        self._sending: Sequence[OutMessage] = ()
        self._unsent: list[int] = []  # of those, by their place in the list
        self._n_waiting = 0  # messages that the client has taken and not stored

    def _send(self, messages: Sequence[OutMessage]) -> None:
        """Write messages; a repeated call with the same list continues with those that were not stored."""
        if self._producer is None:
            self._producer = kafka.Producer(self._settings)
        if self._sending is not messages:
            self._sending, self._unsent = messages, list(range(len(messages)))
        unsent, self._unsent = self._unsent, []
        for place in unsent:
            self._produce(messages[place], place)
        waited_s = 0.0
        while self._n_waiting:
            self._producer.poll(_SLICE_S)
            waited_s += _SLICE_S
            self._errors.raise_refusal()
            if self._errors.down or waited_s > 2 * TIMEOUT_S:
                self._errors.down = False
                raise KafkaAwayError(self._errors.last or "messages were not stored in time")
        if self._unsent:
            raise KafkaAwayError(self._errors.last)
        self._sending = ()

    def _produce(self, message: OutMessage, place: int) -> None:
        def note(error: Any, stored: Any) -> None:
            self._n_waiting -= 1
            if error is not None:
                self._errors.last = self._errors.last or error.str()
                self._unsent.append(place)

        headers = list(message.headers)
        while True:
            try:
                self._producer.produce(message.stream, message.value, message.key, headers=headers, on_delivery=note)
                break
            except BufferError:  # the queue of the client is full: it sends in the meantime
                self._producer.poll(_SLICE_S)
        self._n_waiting += 1

    def close(self) -> None:
        """Close the connection; what could not be stored was reported by `publish`."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(1.0)


Source = KafkaSource
SinkPublisher = KafkaPublisher
