"""MQTT 5 as a source and a sink; needs ``anystream[mqtt]``.

A client with a fixed name has a session in the broker: messages of QoS 1 that it has not acknowledged are delivered
again, to the same name. A message has no place in MQTT, so one that comes again cannot be recognised: an answer may be
written twice if a process dies between writing it and the acknowledgement.
"""

from __future__ import annotations

import queue
import socket
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.broker_address import BrokerAddress
from anystream.connectors.broker_sink import Publisher
from anystream.connectors.broker_source import Message, MessageSource, OutMessage
from anystream.connectors.schema import Schema

try:
    import paho.mqtt.client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties
except ImportError as error:  # pragma: no cover  the tests have it
    raise ImportError("MQTT needs the client paho-mqtt; install anystream[mqtt]") from error

_TIMEOUT_S = 10.0
_KEEPALIVE_S = 30
_MAX_UNCONFIRMED = 1000  # messages that are sent before the first of them is confirmed
_MAX_BLOCK_S = 10.0  # for which the thread of the client may stand still: it also has to send its signs of life
_TEMPORARY = (0x88, 0x89, 0x97, 0x9C, 0x9D, 0x9F)  # unavailable, busy, over a quota, moved, too many connections


class MqttAwayError(OSError):
    """The broker is not connected, or did not confirm a message in time."""


class _Session:
    """A connected client; it reconnects by itself.

    Parameters
    ----------
    address : BrokerAddress
        The broker.
    client_id : str
        Name of the session.
    receive_max : int
        Number of messages that the broker sends before one of them is acknowledged.
    keep_s : float
        Seconds for which the broker keeps the session without a connection.
    """

    def __init__(self, address: BrokerAddress, client_id: str, *, receive_max: int, keep_s: float) -> None:
        self._address = address
        self._client = mqtt.Client(
            CallbackAPIVersion.VERSION2, client_id=client_id, protocol=mqtt.MQTTv5, manual_ack=True
        )
        if address.user is not None:
            self._client.username_pw_set(address.user, address.password)
        if address.tls:
            options = address.options
            self._client.tls_set(options.get("ca"), options.get("cert"), options.get("cert_key"))
        self._client.reconnect_delay_set(1, 2)
        self._client.max_inflight_messages_set(_MAX_UNCONFIRMED)
        self._properties = Properties(PacketTypes.CONNECT)
        self._properties.ReceiveMaximum = receive_max
        self._properties.SessionExpiryInterval = int(keep_s)
        self._started = False
        self._sending: Sequence[OutMessage] = ()
        self._n_sent = 0  # of those
        self._unconfirmed: set[int] = set()
        self._confirmed: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()  # what the broker says to each
        self.connected = threading.Event()
        self.generation = 0  # rises with every connection: numbers of messages are valid in one of them
        self.refused = ""
        self.client.on_socket_open = _send_at_once
        self.client.on_connect = self._on_connect
        self.client.on_disconnect = self._on_disconnect
        self.client.on_publish = self._on_publish
        self.subscribe_to: str | None = None

    @property
    def client(self) -> Any:
        """The client."""
        return self._client

    def require(self) -> None:
        """Connect at the first call; raise if there is no connection."""
        if not self._started:
            host, port = self._address.hosts[0]
            self._client.connect(host, port, keepalive=_KEEPALIVE_S, clean_start=False, properties=self._properties)
            self._client.loop_start()
            self._started = True
            self.connected.wait(_TIMEOUT_S)
        if self.refused:
            raise ValueError(f"{self._address}: {self.refused}")
        if not self.connected.is_set():
            raise MqttAwayError("there is no connection")

    def publish(self, messages: Sequence[OutMessage]) -> None:
        """Write messages; on return the broker has confirmed all of them.

        A repeated call with the same list continues: the client itself sends again what it has taken.
        """
        self.require()
        if self._sending is not messages:
            self._sending, self._n_sent = messages, 0
        while self._n_sent < len(messages) or self._unconfirmed:
            while self._n_sent < len(messages) and len(self._unconfirmed) < _MAX_UNCONFIRMED:
                message = messages[self._n_sent]
                info = self._client.publish(message.stream, message.value or b"", 1, properties=_to_properties(message))
                self._unconfirmed.add(info.mid)
                self._n_sent += 1
            try:
                number, reason = self._confirmed.get(timeout=_TIMEOUT_S)
            except queue.Empty:
                raise MqttAwayError("messages were not confirmed in time") from None
            self._unconfirmed.discard(number)
            if reason.is_failure:
                raise ValueError(f"{self._address}: the broker refuses a message: {reason}")
        self._sending = ()

    def close(self) -> None:
        """Disconnect; the broker keeps the session."""
        if self._started:
            self._client.disconnect()
            self._client.loop_stop()

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            if reason.value in _TEMPORARY:
                return
            self.refused = f"the broker refuses the connection: {reason}"
        else:
            self.generation += 1
            if self.subscribe_to is not None:
                client.subscribe(self.subscribe_to, options=mqtt.SubscribeOptions(qos=1))
        self.connected.set()

    def _on_disconnect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self.connected.clear()

    def _on_publish(self, client: Any, data: Any, number: int, reason: Any, properties: Any) -> None:
        self._confirmed.put((number, reason))
        _confirm_at_once(client)


def _send_at_once(client: Any, data: Any, connection: socket.socket) -> None:
    """Let small packets not wait until those before them are confirmed."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _confirm_at_once(client: Any) -> None:
    """Confirm what was received, for which Linux waits up to 40 ms: mosquitto sends small packets only after that.

    Linux forgets the option after some packets.
    """
    connection = client.socket()
    if connection is not None and hasattr(socket, "TCP_QUICKACK"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


class MqttSource(MessageSource):
    """Records from a topic of MQTT.

    Parameters
    ----------
    address : str or BrokerAddress
        Such as ``mqtt://localhost/events?client=c``. Options beside those of every broker: ``client``, the name of the
        session, which is needed and must be unique; ``receive_max``, how many messages may be in work here (1000);
        ``keep``, how long the broker keeps the session without a connection (24h).
    schema, value_format, rename, give_up_after_s, report
        See `MessageSource`.

    Notes
    -----
    A shared subscription (``$share/GROUP/TOPIC``) is no group of consumers: messages of a client that has died wait for
    that client, and go to no other.

    The broker is told ``receive_max``, but mosquitto 2.0 keeps to it only until the first acknowledgement: with the
    one of the k-th unacknowledged message it sends up to ``receive_max - k + 1`` more, however many are unacknowledged
    (eclipse-mosquitto/mosquitto #2301). So the limit is kept here, too: no more are returned, as many again wait in
    memory, and then nothing more is read from the connection.
    """

    errors: ClassVar[tuple[type[BaseException], ...]] = (OSError,)
    options: ClassVar[tuple[str, ...]] = ("client", "receive_max", "keep")

    def __init__(self, address: str | BrokerAddress, schema: Schema, **options: Any) -> None:
        super().__init__(address, schema, **options)
        name = self.address.options.get("client")
        if not name:
            raise ValueError(
                f"{self.address}: name the session, so that a restarted process has its messages again: "
                f"{self.address}?client=NAME"
            )
        self._receive_max = min(self.address.number("receive_max", 1000), 65_535)
        keep_s = self.address.seconds("keep", 86_400.0) or 86_400.0
        self._session = _Session(self.address, name, receive_max=self._receive_max, keep_s=keep_s)
        self._session.subscribe_to = self.address.stream
        self._session.client.on_message = self._on_message
        self._buffer: deque[tuple[int, int, Any]] = deque()
        self._arrived = threading.Event()
        self._has_capacity = threading.Condition()
        self._closing = False
        self._n_open = 0  # messages of this connection that were returned and are not acknowledged
        self._generation = 0
        self._count = 0

    def close(self) -> None:
        """Disconnect; the broker keeps the session and what comes for it."""
        with self._has_capacity:
            self._closing = True
            self._has_capacity.notify()
        self._session.close()

    def positions(self, finished: NDArray[np.int64]) -> dict[str, Any]:
        """Return nothing: a message that comes again cannot be recognised."""
        return {}

    def restore_positions(self, positions: dict[str, Any]) -> None:
        """Skip nothing: what comes again is answered again."""

    def _group(self) -> str:
        return self.address.options.get("client", "")

    def _fetch(self, max_messages: int, wait_s: float) -> list[Message]:
        self._session.require()
        self._renew()
        free = self._receive_max - self._n_open
        if wait_s > 0.0 and (free == 0 or not self._buffer):
            self._arrived.wait(wait_s)
            self._renew()
        self._arrived.clear()
        found: list[Message] = []
        with self._has_capacity:
            while self._buffer and len(found) < min(max_messages, free):
                generation, number, raw = self._buffer.popleft()
                if generation > self._generation:
                    self._renew()
                    found, free = [], self._receive_max
                if generation == self._generation:  # else it comes again in this connection
                    found.append(self._to_message(generation, number, raw))
            self._has_capacity.notify()
        self._n_open += len(found)
        return found

    def _acknowledge(self, messages: Sequence[Message]) -> None:
        """Acknowledge the messages of this connection; those of an earlier one come again."""
        for message in messages:
            generation, number = message.handle
            if generation == self._session.generation:
                self._session.client.ack(number, 1)
            if generation == self._generation:
                self._n_open -= 1

    def _renew(self) -> None:
        """Forget the messages of an earlier connection: the broker delivers them again."""
        if self._generation != self._session.generation:
            self._generation = self._session.generation
            self._n_open = 0
            self._revoke([str(number) for number in range(self._generation)])

    def _on_message(self, client: Any, data: Any, raw: Any) -> None:
        """Keep a message; while too many wait, let the thread of the client stand still, so that it reads no more."""
        _confirm_at_once(client)
        with self._has_capacity:
            self._has_capacity.wait_for(
                lambda: len(self._buffer) < self._receive_max or self._closing, timeout=_MAX_BLOCK_S
            )
            self._buffer.append((self._session.generation, raw.mid, raw))
        self._arrived.set()

    def _to_message(self, generation: int, number: int, raw: Any) -> Message:
        pairs = getattr(raw.properties, "UserProperty", None) or ()
        key = next((text.encode() for name, text in pairs if name == "key"), None)
        self._count += 1
        return Message(
            str(generation),
            self._count,
            raw.payload,
            key=key,
            headers=tuple((name, text.encode()) for name, text in pairs if name != "key"),
            handle=(generation, number),
        )


class MqttPublisher(Publisher):
    """Messages to a topic of MQTT, with QoS 1.

    Parameters
    ----------
    address : str or BrokerAddress
        Such as ``mqtt://localhost/answers``.
    give_up_after_s, report
        See `Publisher`.
    """

    options: ClassVar[tuple[str, ...]] = ("client",)

    def __init__(self, address: str | BrokerAddress, **options: Any) -> None:
        super().__init__(address, **options)
        self._session = _Session(self.address, self.address.options.get("client", ""), receive_max=100, keep_s=0.0)

    def _send(self, messages: Sequence[OutMessage]) -> None:
        self._session.publish(messages)

    def close(self) -> None:
        """Disconnect."""
        self._session.close()


def _to_properties(message: OutMessage) -> Any:
    pairs = [(name, value.decode("utf-8", "backslashreplace")) for name, value in message.headers]
    if message.key is not None:
        pairs.append(("key", message.key.decode("utf-8", "backslashreplace")))
    properties = Properties(PacketTypes.PUBLISH)
    if pairs:
        properties.UserProperty = pairs
    return properties


Source = MqttSource
SinkPublisher = MqttPublisher
