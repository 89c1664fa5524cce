"""Sources and sinks by the address of a stream in a broker; a client is imported when an address asks for it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from anystream.connectors.broker_address import BrokerAddress
from anystream.connectors.broker_sink import BrokerDeadLetters, BrokerSink, Publisher
from anystream.connectors.broker_source import MessageSource
from anystream.connectors.schema import Schema

_MODULES = {"kafka": "kafka", "redis": "redis_streams", "nats": "jetstream", "mqtt": "mqtt"}


def open_broker_source(address: str, schema: Schema, **options: Any) -> MessageSource:
    """Return the source of an address; the options are those of `MessageSource`."""
    parsed = BrokerAddress.parse(address)
    source: MessageSource = _import(parsed).Source(parsed, schema, **options)
    return source


def open_publisher(address: str, **options: Any) -> Publisher:
    """Return a publisher to an address; the options are those of `Publisher`."""
    parsed = BrokerAddress.parse(address)
    publisher: Publisher = _import(parsed).SinkPublisher(parsed, **options)
    return publisher


def open_broker_sink(
    address: str,
    *,
    source: object = None,
    proba: bool = False,
    unknown: bool = False,
    keep: Sequence[str] = (),
    **options: Any,
) -> BrokerSink:
    """Return a sink of answers; see `BrokerSink`."""
    shared = source if isinstance(source, MessageSource) else None
    return BrokerSink(open_publisher(address, **options), source=shared, proba=proba, unknown=unknown, keep=keep)


def open_broker_dead_letters(address: str, *, source: object = None, **options: Any) -> BrokerDeadLetters:
    """Return a sink of dead letters; see `BrokerDeadLetters`."""
    shared = source if isinstance(source, MessageSource) else None
    return BrokerDeadLetters(open_publisher(address, **options), source=shared)


def _import(address: BrokerAddress) -> Any:
    return importlib.import_module(f"anystream.connectors.{_MODULES[address.scheme]}")
