"""Redis Streams as a source and a sink; needs ``anystream[redis]``.

A group of consumers shares a stream. A message is pending from its delivery to its acknowledgement; the pending ones of
a consumer that has died are claimed by another. One script acknowledges messages and adds their answers, so that
either both happen or neither, and nothing happens for a message that was acknowledged before: a consumer that was only
slow, and whose messages were claimed, adds no second answer.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from anystream.connectors.broker_address import BrokerAddress
from anystream.connectors.broker_sink import Publisher
from anystream.connectors.broker_source import Message, MessageSource, OutMessage
from anystream.connectors.schema import Schema

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry as RetryOfClient
except ImportError as error:  # pragma: no cover  the tests have it
    raise ImportError("Redis Streams need the client redis; install anystream[redis]") from error

_VALUE = b"value"  # field that holds the whole record; without it, every field is a column
_MAX_SCRIPT = 500  # messages per call of the script: Redis does nothing else meanwhile
_FINISH = """
local added = 0
local at = 2
while at <= #ARGV do
  local id, n_out = ARGV[at], tonumber(ARGV[at + 1])
  at = at + 2
  local fresh = redis.call('XACK', KEYS[1], ARGV[1], id) == 1
  for i = 1, n_out do
    local stream, n_fields = ARGV[at], tonumber(ARGV[at + 1])
    if fresh then
      redis.call('XADD', stream, '*', unpack(ARGV, at + 2, at + 1 + n_fields))
      added = added + 1
    end
    at = at + 2 + n_fields
  end
end
return added
"""
_AWAY = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.exceptions.BusyLoadingError,
    redis.exceptions.ReadOnlyError,
    OSError,
)
_REFUSALS = (redis.AuthenticationError, redis.exceptions.AuthorizationError)


def connect(address: BrokerAddress) -> Any:
    """Return a client; it connects at the first command."""
    options = address.options
    secure: dict[str, Any] = {}
    if address.tls:
        files = {"ssl_ca_certs": "ca", "ssl_certfile": "cert", "ssl_keyfile": "cert_key"}
        secure = {"ssl": True} | {name: options.get(option) for name, option in files.items()}
    host, port = address.hosts[0]
    return redis.Redis(
        host=host,
        port=port,
        db=int(options.get("db", "0")),
        username=address.user,
        password=address.password,
        socket_timeout=10.0,
        socket_connect_timeout=5.0,
        retry=RetryOfClient(NoBackoff(), 0),  # `Retry` repeats, and reports it
        **secure,
    )


class RedisStreamsSource(MessageSource):
    """Records from a Redis stream, read as a member of a group.

    An entry with a field ``value`` holds its record there, in the value format; otherwise every field is a column.

    Parameters
    ----------
    address : str or BrokerAddress
        Such as ``redis://localhost/events?group=g``. Options beside those of every broker: ``group``; ``consumer``, the
        name of this one, which a restarted process should keep, so that it has its pending messages at once (by default
        host and process); ``claim_after``, the time after which a message of another consumer is taken over (60s);
        ``max_deliveries``, after which a message goes to the dead letters (20); ``start``, the identifier after which a
        new group begins (``0``, or ``$`` for new messages only); ``db``.
    schema, value_format, rename, give_up_after_s, report
        See `MessageSource`.

    Attributes
    ----------
    lag : int or None
        Messages that no consumer of the group has read yet; None if Redis cannot tell, as after a deletion.
    """

    errors: ClassVar[tuple[type[BaseException], ...]] = _AWAY
    refusals: ClassVar[tuple[type[BaseException], ...]] = _REFUSALS
    options: ClassVar[tuple[str, ...]] = ("group", "consumer", "claim_after", "max_deliveries", "start", "db")
    shares_outputs: ClassVar[bool] = True

    def __init__(self, address: str | BrokerAddress, schema: Schema, **options: Any) -> None:
        super().__init__(address, schema, **options)
        self._client = connect(self.address)
        self._script = self._client.register_script(_FINISH)
        given = self.address.options
        self._consumer = given.get("consumer", f"{socket.gethostname()}-{os.getpid()}")
        self._claim_after_s = self.address.seconds("claim_after", 60.0) or 60.0
        self._max_deliveries = self.address.number("max_deliveries", 20)
        self._joined = False
        self._own: str | None = "0"  # where to continue with the own pending messages; None when all were read
        self._claim_from = "0-0"
        self._next_claim = 0.0
        self._next_touch = 0.0
        self._held: set[str] = set()  # identifiers of messages that were fetched and not acknowledged

    @property
    def lag(self) -> int | None:
        """Messages that no consumer of the group has read yet."""
        groups = self._client.xinfo_groups(self.address.stream)
        return next((group["lag"] for group in groups if group["name"] == self._group().encode()), None)

    def close(self) -> None:
        """Leave the group, if nothing is pending, and close the connection."""
        try:
            if self._joined:
                pending = self._client.xpending_range(self.address.stream, self._group(), "-", "+", 1, self._consumer)
                if not pending:  # else they would be lost with the consumer
                    self._client.xgroup_delconsumer(self.address.stream, self._group(), self._consumer)
        except redis.RedisError:
            pass  # a broker that is away forgets nobody
        self._client.close()

    def _fetch(self, max_messages: int, wait_s: float) -> list[Message]:
        self._join()
        self._acknowledge_finished_before()
        if self._retry.away:
            self._own = "0"  # a reply may have been lost together with the connection
        while self._own is not None:
            messages = self._read_own(max_messages)
            if messages:
                return messages
        now = time.monotonic()
        if now >= self._next_claim:
            messages = self._claim(max_messages)
            if messages:
                return messages
        self._touch(now)
        try:
            found = self._client.xreadgroup(
                self._group(),
                self._consumer,
                {self.address.stream: ">"},
                count=max_messages,
                block=max(int(wait_s * 1000), 1) if wait_s > 0.0 else None,
            )
        except redis.ResponseError as error:
            if "NOGROUP" in str(error):  # a server that came back without its data
                self._joined = False
                return []
            raise
        return [self._to_message(identifier, fields) for _, entries in found or () for identifier, fields in entries]

    def _acknowledge(self, messages: Sequence[Message]) -> None:
        for first in range(0, len(messages), _MAX_SCRIPT):
            part = messages[first : first + _MAX_SCRIPT]
            arguments: list[Any] = [self._group()]
            for message in part:
                arguments += [message.position, len(message.outbox)]
                for out in message.outbox:
                    fields = to_fields(out)
                    arguments += [out.stream, len(fields), *fields]
            self._script(keys=[self.address.stream], args=arguments)
            self._held.difference_update(message.position for message in part)

    def _serve(self) -> None:
        self._touch(time.monotonic())

    def _join(self) -> None:
        if self._joined:
            return
        try:
            self._client.xgroup_create(
                self.address.stream, self._group(), id=self.address.options.get("start", "0"), mkstream=True
            )
        except redis.ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
        self._joined = True

    def _acknowledge_finished_before(self) -> None:
        """Acknowledge what a restored checkpoint calls finished, whichever consumer it was delivered to."""
        positions = [position for _, position in self._finished_before]
        for first in range(0, len(positions), 1000):
            self._client.xack(self.address.stream, self._group(), *positions[first : first + 1000])
        self._finished_before.clear()

    def _read_own(self, max_messages: int) -> list[Message]:
        """Return pending messages of this consumer, from an earlier process of the same name."""
        found = self._client.xreadgroup(
            self._group(), self._consumer, {self.address.stream: self._own}, count=max_messages
        )
        entries = [entry for _, part in found or () for entry in part]
        if not entries:
            self._own = None
            return []
        self._own = entries[-1][0].decode()
        return self._keep_fresh([entry for entry in entries if entry[0].decode() not in self._held])

    def _claim(self, max_messages: int) -> list[Message]:
        """Take over messages of consumers that have died."""
        following, entries, deleted = self._client.xautoclaim(
            self.address.stream,
            self._group(),
            self._consumer,
            int(self._claim_after_s * 1000),
            self._claim_from,
            count=min(max_messages, 1000),
        )
        self._claim_from = following.decode()
        if self._claim_from == "0-0":
            self._next_claim = time.monotonic() + self._claim_after_s / 4
        self._count_lost(len(deleted))
        return self._keep_fresh([entry for entry in entries if entry[0].decode() not in self._held])

    def _keep_fresh(self, entries: list[Any]) -> list[Message]:
        """Return messages that are delivered again; those that were too often get a reason to be dead-lettered."""
        gone = [identifier for identifier, fields in entries if fields is None]  # trimmed while they were pending
        if gone:
            self._client.xack(self.address.stream, self._group(), *gone)
            self._count_lost(len(gone))
        entries = [entry for entry in entries if entry[1] is not None]
        if not entries:
            return []
        deliveries = self._count_deliveries(entries[0][0], entries[-1][0])
        messages = []
        for identifier, fields in entries:
            message = self._to_message(identifier, fields)
            n = deliveries.get(identifier, 1)
            if n > self._max_deliveries:
                message.reason = f"the message was delivered {n} times and never finished"
            messages.append(message)
        return messages

    def _count_deliveries(self, first: bytes, last: bytes) -> dict[bytes, int]:
        pending = self._client.xpending_range(self.address.stream, self._group(), first, last, 10_000, self._consumer)
        return {found["message_id"]: found["times_delivered"] for found in pending}

    def _count_lost(self, n: int) -> None:
        if n:
            self.lost += n
            self._report(
                f"{self.address}: {n} pending messages were trimmed from the stream before they were finished, "
                f"{self.lost} in all; keep more entries (XTRIM, MAXLEN)"
            )

    def _touch(self, now: float) -> None:
        """Tell Redis that the messages in work are not abandoned."""
        if now < self._next_touch:
            return
        self._next_touch = now + self._claim_after_s / 3
        held = list(self._held)
        for first in range(0, len(held), 1000):
            part = held[first : first + 1000]
            self._client.xclaim(self.address.stream, self._group(), self._consumer, 0, part, justid=True)

    def _to_message(self, identifier: bytes, fields: dict[bytes, bytes]) -> Message:
        position = identifier.decode()
        self._held.add(position)
        value = fields.get(_VALUE)
        others = tuple((_decode(name), content) for name, content in fields.items() if name != _VALUE)
        return Message(
            "",
            position,
            value,
            key=fields.get(b"key") if value is not None else None,
            headers=others,
            time_s=int(position.partition("-")[0]) / 1000,
            fields=None if value is not None else {name: _decode(content) for name, content in others},
        )


class RedisStreamsPublisher(Publisher):
    """Messages to a Redis stream: the field ``value``, and a field for every header.

    Parameters
    ----------
    address : str or BrokerAddress
        Such as ``redis://localhost/answers``. Options: ``db``, and ``maxlen``, the number of entries that are kept.
    give_up_after_s, report
        See `Publisher`.
    """

    errors: ClassVar[tuple[type[BaseException], ...]] = _AWAY
    refusals: ClassVar[tuple[type[BaseException], ...]] = _REFUSALS
    options: ClassVar[tuple[str, ...]] = ("db", "maxlen")

    def __init__(self, address: str | BrokerAddress, **options: Any) -> None:
        super().__init__(address, **options)
        self._client = connect(self.address)
        maxlen = self.address.options.get("maxlen")
        self._maxlen = None if maxlen is None else self.address.number("maxlen", 1)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _send(self, messages: Sequence[OutMessage]) -> None:
        pipeline = self._client.pipeline(transaction=True)
        limit = [] if self._maxlen is None else ["MAXLEN", "~", self._maxlen]
        for message in messages:
            pipeline.execute_command("XADD", message.stream, *limit, "*", *to_fields(message))
        pipeline.execute()


def to_fields(message: OutMessage) -> list[bytes]:
    """Return the fields of an entry, name after name and content."""
    fields = {} if message.value is None else {_VALUE: message.value}
    if message.key is not None:
        fields[b"key"] = message.key
    for name, content in message.headers:
        fields.setdefault(name.encode("utf-8", "surrogateescape"), content)
    return [part for pair in fields.items() for part in pair]


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


Source = RedisStreamsSource
SinkPublisher = RedisStreamsPublisher
