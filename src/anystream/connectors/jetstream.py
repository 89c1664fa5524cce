"""NATS JetStream as a source and a sink; needs ``anystream[nats]``.

A durable consumer is pulled by any number of processes; every message is acknowledged by itself. An answer carries the
place of its record as ``Nats-Msg-Id``, so that the stream of answers stores it once, even if its record comes again
(within the stream's window for duplicates, two minutes by default).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
import ssl
import threading
from collections import deque
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, ClassVar, TypeVar

from anystream.connectors.broker_address import BrokerAddress
from anystream.connectors.broker_sink import Publisher
from anystream.connectors.broker_source import Message, MessageSource, OutMessage
from anystream.connectors.schema import Schema

try:
    import nats
    import nats.errors
    import nats.js.api
    import nats.js.errors
except ImportError as error:  # pragma: no cover  the tests have it
    raise ImportError("JetStream needs the client nats-py; install anystream[nats]") from error

T = TypeVar("T")

_TIMEOUT_S = 5.0  # for a reply of the server
_MAX_FETCH = 256  # messages of one request: what waits here, other processes cannot take
_MAX_AT_ONCE = 1024  # requests that are sent before their replies
_MESSAGE_ID = "Nats-Msg-Id"
_AWAY = (OSError, nats.errors.Error, asyncio.TimeoutError, concurrent.futures.TimeoutError)
_REFUSALS = (nats.errors.AuthorizationError,)


class _Connection:
    """A connection in a thread with an event loop of its own, called from another thread."""

    def __init__(self, address: BrokerAddress) -> None:
        self._address = address
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="anystream: nats", daemon=True)
        self._thread.start()
        if address.tls:
            logging.getLogger("asyncio").addFilter(_is_no_end_of_tls)
        self.client: Any = None
        self.jetstream: Any = None
        self._inbox = ""  # subject of the replies
        self._part = 0  # number of the part of the requests that is being sent
        self._unconfirmed: set[int] = set()  # of it
        self._confirmed: asyncio.Future[None] | None = None

    def run(self, call: Coroutine[Any, Any, T], timeout_s: float = 2 * _TIMEOUT_S) -> T:
        """Return the result of a coroutine."""
        future = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            return future.result(timeout_s)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise

    def start(self, call: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine until the connection is closed."""
        asyncio.run_coroutine_threadsafe(call, self._loop)

    async def open(self) -> None:
        """Connect, if that has not happened; afterwards the client reconnects by itself."""
        if self.client is not None:
            return
        address, options = self._address, self._address.options
        tls = None
        if address.tls:
            tls = ssl.create_default_context(cafile=options.get("ca"))
            if "cert" in options:
                tls.load_cert_chain(options["cert"], options.get("cert_key"))
        try:
            client = await nats.connect(
                [f"nats://{host}:{port}" for host, port in address.hosts],
                user=address.user,
                password=None if address.user is None else address.password,
                token=address.password if address.user is None else None,
                tls=tls,
                connect_timeout=2,
                allow_reconnect=False,  # at first, so that an error is raised, and repeated by `Retry`
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.1,
                error_cb=_ignore_error,
            )
        except nats.errors.Error as error:
            if "authorization" in str(error).lower():
                raise nats.errors.AuthorizationError from error
            raise
        client.options["allow_reconnect"] = True
        self._inbox = client.new_inbox()
        await client.subscribe(f"{self._inbox}.*", cb=self._on_reply)
        self.client, self.jetstream = client, client.jetstream(timeout=_TIMEOUT_S)

    def require(self) -> None:
        """Raise while the client is looking for the server."""
        if not self.client.is_connected:
            raise ConnectionError("there is no connection")

    async def publish(self, messages: Sequence[OutMessage]) -> None:
        """Write messages; on return all are stored."""
        await self.request_all([(message.stream, message.value or b"", _to_headers(message)) for message in messages])

    async def request_all(self, requests: Sequence[tuple[str, bytes, dict[str, str] | None]]) -> None:
        """Send subjects with data and headers; on return the server has confirmed each."""
        for first in range(0, len(requests), _MAX_AT_ONCE):
            await self._request_part(requests[first : first + _MAX_AT_ONCE])

    async def _request_part(self, requests: Sequence[tuple[str, bytes, dict[str, str] | None]]) -> None:
        """Send requests, then wait for all replies at once: a task and a timer for each cost more than sending it."""
        self._part = part = self._part + 1
        self._unconfirmed = set(range(len(requests)))
        self._confirmed = confirmed = self._loop.create_future()
        for number, (subject, data, headers) in enumerate(requests):
            await self.client.publish(subject, data, f"{self._inbox}.{part}-{number}", headers)
        await asyncio.wait_for(confirmed, _TIMEOUT_S)

    async def _on_reply(self, reply: Any) -> None:
        """Note that a request is confirmed, or why it is not; replies to an earlier part are left out."""
        part, _, number = reply.subject.rpartition(".")[2].partition("-")
        if int(part) != self._part or self._confirmed is None or self._confirmed.done():
            return
        if (reply.headers or {}).get(nats.js.api.Header.STATUS) == "503":
            self._confirmed.set_exception(nats.js.errors.NoStreamResponseError())
        elif b'"error"' in reply.data:
            self._confirmed.set_exception(nats.js.errors.APIError.from_error(json.loads(reply.data)["error"]))
        else:
            self._unconfirmed.discard(int(number))
            if not self._unconfirmed:
                self._confirmed.set_result(None)

    def close(self) -> None:
        """Close the connection and end the thread."""
        if self.client is not None:
            with suppress(*_AWAY):
                self.run(self.client.close(), 2.0)
        with suppress(*_AWAY):
            self.run(self._cancel_others(), 2.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(2.0)

    @staticmethod
    async def _cancel_others() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class JetStreamSource(MessageSource):
    """Records from a subject of JetStream, pulled by a durable consumer.

    Parameters
    ----------
    address : str or BrokerAddress
        Such as ``nats://localhost/events?durable=d``. Options beside those of every broker: ``durable``, the name of
        the consumer, which all processes of a group share; ``ack_wait``, the time after which the messages of a process
        that has died are delivered again (30s); ``max_ack_pending``, how many messages may be in work in all processes
        (10000); ``max_deliveries``, after which a message goes to the dead letters (20).
    schema, value_format, rename, give_up_after_s, report
        See `MessageSource`.

    Attributes
    ----------
    lag : int or None
        Messages that were not delivered yet; None before the first connection.

    Notes
    -----
    The server itself drops a message after its last delivery, without a word; the source dead-letters it at the last
    one. While a message waits here, the server is told that it is in progress.
    """

    errors: ClassVar[tuple[type[BaseException], ...]] = _AWAY
    refusals: ClassVar[tuple[type[BaseException], ...]] = _REFUSALS
    options: ClassVar[tuple[str, ...]] = ("durable", "ack_wait", "max_ack_pending", "max_deliveries")
    shares_outputs: ClassVar[bool] = True

    def __init__(self, address: str | BrokerAddress, schema: Schema, **options: Any) -> None:
        super().__init__(address, schema, **options)
        self._connection = _Connection(self.address)
        self._ack_wait_s = self.address.seconds("ack_wait", 30.0) or 30.0
        self._max_pending = self.address.number("max_ack_pending", 10_000)
        self._max_deliveries = self.address.number("max_deliveries", 20)
        self._subscription: Any = None
        self._buffer: deque[Any] = deque()
        self._arrived = threading.Event()
        self._failure: BaseException | None = None
        self._wanted = 1024
        self._closing = False
        self._held: dict[int, Any] = {}  # messages that are in work, by their place in the stream

    @property
    def lag(self) -> int | None:
        """Messages that were not delivered yet."""
        if self._subscription is None:
            return None
        info = self._connection.run(self._subscription.consumer_info())
        return int(info.num_pending or 0)

    def close(self) -> None:
        """Give back what is unfinished, so that another process has it at once, and close the connection."""
        self._closing = True
        if self._subscription is not None:
            with suppress(*_AWAY):
                self._connection.run(self._give_back(), 5.0)
        self._connection.close()

    def _group(self) -> str:
        return self.address.options.get("durable", "anystream")

    def _fetch(self, max_messages: int, wait_s: float) -> list[Message]:
        self._subscribe()
        if not self._buffer and wait_s > 0.0:
            self._arrived.wait(wait_s)
        self._arrived.clear()
        failure, self._failure = self._failure, None
        if failure is not None and not self._buffer:
            raise failure
        found: list[Message] = []
        while self._buffer and len(found) < max_messages:
            found.append(self._to_message(self._buffer.popleft()))
        return found

    def _acknowledge(self, messages: Sequence[Message]) -> None:
        self._subscribe()
        answers = [answer for message in messages for answer in message.outbox]
        self._connection.run(self._finish_messages(answers, messages), 2 * _TIMEOUT_S + len(messages) / 100)

    async def _finish_messages(self, answers: Sequence[OutMessage], messages: Sequence[Message]) -> None:
        """Write answers, then acknowledge the messages; a repeated call does no harm."""
        await self._connection.publish(answers)
        for message in messages:
            self._held.pop(message.position, None)
        await self._connection.request_all([(message.handle.reply, b"+ACK", None) for message in messages])

    def _subscribe(self) -> None:
        """Connect and bind to the durable consumer, which is made if it does not exist; raise without a connection."""
        if self._subscription is None:
            self._subscription = self._connection.run(self._open_subscription())
            if self._finished_before:
                self._forget_acknowledged(self._connection.run(self._subscription.consumer_info()))
            self._connection.start(self._pull())
            self._connection.start(self._report_progress())
        self._connection.require()

    def _forget_acknowledged(self, info: Any) -> None:
        """Forget the messages of a restored checkpoint that are acknowledged: they never come again."""
        floor = 0 if info.ack_floor is None else info.ack_floor.stream_seq
        self._finished_before = {place for place in self._finished_before if int(place[1]) > floor}

    async def _open_subscription(self) -> Any:
        await self._connection.open()
        jetstream = self._connection.jetstream
        try:
            stream = await jetstream.find_stream_name_by_subject(self.address.stream)
        except nats.js.errors.NotFoundError:
            raise ValueError(f"{self.address}: no stream of JetStream has this subject; create one") from None
        config = nats.js.api.ConsumerConfig(
            durable_name=self._group(),
            filter_subject=self.address.stream,
            ack_policy=nats.js.api.AckPolicy.EXPLICIT,
            ack_wait=self._ack_wait_s,
            max_deliver=self._max_deliveries,
            max_ack_pending=self._max_pending,
        )
        return await jetstream.pull_subscribe(self.address.stream, self._group(), stream=stream, config=config)

    async def _pull(self) -> None:
        """Fetch messages while fewer wait here than can soon be taken; short requests survive a restarted server."""
        while not self._closing:
            if len(self._buffer) >= self._wanted:
                await asyncio.sleep(0.002)
                continue
            try:
                messages = await self._subscription.fetch(_MAX_FETCH, timeout=1.0)
            except (TimeoutError, nats.errors.TimeoutError):
                continue
            except Exception as error:  # raised by `_fetch`, in the thread of the engine
                self._failure = error if isinstance(error, _AWAY) else OSError(str(error))
                self._arrived.set()
                await asyncio.sleep(0.1)
                continue
            for message in messages:
                self._held[message.metadata.sequence.stream] = message
            self._buffer.extend(messages)
            self._arrived.set()

    async def _report_progress(self) -> None:
        """Tell the server every now and then that the messages here are in progress."""
        while not self._closing:
            await asyncio.sleep(self._ack_wait_s / 3)
            for message in list(self._held.values()):
                with suppress(*_AWAY):
                    await message.in_progress()

    async def _give_back(self) -> None:
        for message in list(self._held.values()):
            with suppress(*_AWAY):
                await message.nak(delay=0.1)
        await self._connection.client.flush(2)

    def _to_message(self, raw: Any) -> Message:
        metadata = raw.metadata
        headers = raw.headers or {}
        key = headers.get("key")
        reason = None
        if metadata.num_delivered >= self._max_deliveries:
            reason = f"the message was delivered {metadata.num_delivered} times and never finished"
        return Message(
            "",
            metadata.sequence.stream,
            raw.data,
            key=None if key is None else key.encode(),
            headers=tuple((name, text.encode()) for name, text in headers.items() if name not in ("key", _MESSAGE_ID)),
            time_s=metadata.timestamp.timestamp(),
            handle=raw,
            reason=reason,
        )


class JetStreamPublisher(Publisher):
    """Messages to a subject of JetStream.

    Parameters
    ----------
    address : str or BrokerAddress
        Such as ``nats://localhost/answers``; a stream must have the subject.
    give_up_after_s, report
        See `Publisher`.
    """

    errors: ClassVar[tuple[type[BaseException], ...]] = _AWAY
    refusals: ClassVar[tuple[type[BaseException], ...]] = _REFUSALS

    def __init__(self, address: str | BrokerAddress, **options: Any) -> None:
        super().__init__(address, **options)
        self._connection: _Connection | None = None

    def _send(self, messages: Sequence[OutMessage]) -> None:
        if self._connection is None:
            self._connection = _Connection(self.address)
        self._connection.run(self._connection.open())
        self._connection.require()
        self._connection.run(self._connection.publish(messages), 2 * _TIMEOUT_S + len(messages) / 100)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()


def _to_headers(message: OutMessage) -> dict[str, str] | None:
    headers = {name: value.decode("utf-8", "backslashreplace") for name, value in message.headers}
    if message.key is not None:
        headers["key"] = message.key.decode("utf-8", "backslashreplace")
    if message.identity is not None:
        headers[_MESSAGE_ID] = message.identity
    return {name: " ".join(text.split()) for name, text in headers.items()} or None


def _is_no_end_of_tls(record: logging.LogRecord) -> bool:
    """Leave out what asyncio says of nats-py whenever an encrypted connection ends."""
    return not record.msg.startswith("returning true from eof_received()")


async def _ignore_error(error: Exception) -> None:
    """Errors of the connection show in the calls that use it."""


Source = JetStreamSource
SinkPublisher = JetStreamPublisher
