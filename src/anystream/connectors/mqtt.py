"""MQTT 5 as a source and a sink; needs ``anystream[mqtt]``.

A client with a fixed name has a session in the broker: messages of QoS 1 that it has not acknowledged are delivered
again, to the same name. A message has no place in MQTT, so one that comes again cannot be recognised: an answer may be
written twice if a process dies between writing it and the acknowledgement.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar

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
        self._client.max_inflight_messages_set(1000)
        self._properties = Properties(PacketTypes.CONNECT)
        self._properties.ReceiveMaximum = receive_max
        self._properties.SessionExpiryInterval = int(keep_s)
        self._started = False
        self.connected = threading.Event()
        self.generation = 0  # rises with every connection: numbers of messages are valid in one of them
        self.refused = ""
        self.client.on_connect = self._on_connect
        self.client.on_disconnect = self._on_disconnect
        self.subscribe_to: str | None = None

    @property
    def client(self) -> Any:
        """The client."""
        return self._client

    def require(self) -> None:
        """Connect at the first call; raise if there is no connection."""
        if not self._started:
            host, port = self._address.hosts[0]
            self._client.connect(host, port, keepalive=30, clean_start=False, properties=self._properties)
            self._client.loop_start()
            self._started = True
            self.connected.wait(_TIMEOUT_S)
        if self.refused:
            raise ValueError(f"{self._address}: {self.refused}")
        if not self.connected.is_set():
            raise MqttAwayError("there is no connection")

    def publish(self, messages: Sequence[OutMessage]) -> None:
        """Write messages; on return the broker has confirmed all of them."""
        self.require()
        waiting = [
            self._client.publish(message.stream, message.value or b"", qos=1, properties=_to_properties(message))
            for message in messages
        ]
        until = time.monotonic() + _TIMEOUT_S + len(messages) / 100
        for info in waiting:
            try:
                info.wait_for_publish(max(until - time.monotonic(), 0.01))
            except (RuntimeError, ValueError) as error:
                raise MqttAwayError(str(error)) from error
            if not info.is_published():
                raise MqttAwayError("messages were not confirmed in time")

    def close(self) -> None:
        """Disconnect; the broker keeps the session."""
        if self._started:
            self._client.disconnect()
            self._client.loop_stop()

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self.refused = f"the broker refuses the connection: {reason}"
        else:
            self.generation += 1
            if self.subscribe_to is not None:
                client.subscribe(self.subscribe_to, options=mqtt.SubscribeOptions(qos=1))
        self.connected.set()

    def _on_disconnect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self.connected.clear()


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
    """

    errors: ClassVar[tuple[type[BaseException], ...]] = (OSError,)
    options: ClassVar[tuple[str, ...]] = ("client", "receive_max", "keep")
    shares_outputs: ClassVar[bool] = True

    def __init__(self, address: str | BrokerAddress, schema: Schema, **options: Any) -> None:
        super().__init__(address, schema, **options)
        name = self.address.options.get("client")
        if not name:
            raise ValueError(
                f"{self.address}: name the session, so that a restarted process has its messages again: "
                f"{self.address}?client=NAME"
            )
        receive_max = min(self.address.number("receive_max", 1000), 65_535)
        self._session = _Session(
            self.address, name, receive_max=receive_max, keep_s=self.address.seconds("keep", 86_400.0) or 86_400.0
        )
        self._session.subscribe_to = self.address.stream
        self._session.client.on_message = self._on_message
        self._buffer: deque[tuple[int, int, Any]] = deque()
        self._arrived = threading.Event()
        self._generation = 0
        self._count = 0

    def close(self) -> None:
        """Disconnect; the broker keeps the session and what comes for it."""
        self._session.close()

    def _group(self) -> str:
        return self.address.options.get("client", "")

    def _fetch(self, max_messages: int, wait_s: float) -> list[Message]:
        self._session.require()
        self._renew()
        if not self._buffer and wait_s > 0.0:
            self._arrived.wait(wait_s)
        self._arrived.clear()
        found: list[Message] = []
        while self._buffer and len(found) < max_messages:
            generation, number, raw = self._buffer.popleft()
            if generation == self._session.generation:  # else it comes again in this connection
                found.append(self._to_message(generation, number, raw))
        return found

    def _acknowledge(self, messages: Sequence[Message]) -> None:
        """Write the answers, then acknowledge the messages of this connection; those of another come again."""
        self._session.publish([answer for message in messages for answer in message.outbox])
        for message in messages:
            message.outbox = []
            generation, number = message.handle
            if generation == self._session.generation:
                self._session.client.ack(number, 1)

    def _renew(self) -> None:
        """Forget the messages of an earlier connection: the broker delivers them again."""
        if self._generation != self._session.generation:
            self._generation = self._session.generation
            self._revoke([str(number) for number in range(self._generation)])

    def _on_message(self, client: Any, data: Any, raw: Any) -> None:
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
