"""Formats of the messages of a broker: JSON, MessagePack, Arrow and Avro, each to objects of columns."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

from anystream.connectors.json_lines import parse_object

VALUE_FORMATS = ("json", "msgpack", "arrow", "avro")

Decoder = Callable[[bytes], list[dict[str, Any]]]
"""Return the records of a message, by column; ValueError if it is malformed."""


def make_decoder(
    name: str, *, avro_schema: str | None = None, read_schema: Callable[[int], str] | None = None
) -> Decoder:
    """Return the decoder of a format.

    Parameters
    ----------
    name : str
        One of `VALUE_FORMATS`.
    avro_schema : str, optional
        File with the Avro schema of the messages.
    read_schema : callable, optional
        Returns the Avro schema with a number, for messages that begin with the number of their schema; ValueError if
        there is none.
    """
    if name == "json":
        return lambda value: [parse_object(value)]
    if name == "msgpack":
        return _make_msgpack()
    if name == "arrow":
        return _make_arrow()
    if name == "avro":
        return _make_avro(avro_schema, read_schema)
    raise ValueError(f"the value format is {name!r}; use one of {', '.join(VALUE_FORMATS)}")


def _require_object(value: Any, kind: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise ValueError(f"the message is no {kind} map of columns by name")
    return value


def _make_msgpack() -> Decoder:
    try:
        import msgspec
    except ImportError as error:
        raise ImportError("MessagePack needs msgspec; install anystream[msgpack]") from error

    def decode(value: bytes) -> list[dict[str, Any]]:
        try:
            found = msgspec.msgpack.decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ValueError(f"the message is not MessagePack ({error})") from None
        return [_require_object(found, "MessagePack")]

    return decode


def _make_arrow() -> Decoder:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]  # ships no types
        import pyarrow.ipc as ipc  # type: ignore[import-untyped]  # ships no types
    except ImportError as error:
        raise ImportError("Arrow needs pyarrow; install anystream[arrow]") from error

    def decode(value: bytes) -> list[dict[str, Any]]:
        try:
            with ipc.open_stream(value) as reader:
                rows: list[dict[str, Any]] = reader.read_all().to_pylist()
        except (pa.ArrowException, OSError, ValueError) as error:
            raise ValueError(f"the message is no Arrow stream ({error})") from None
        if not rows:
            raise ValueError("the message is an Arrow stream without any record")
        return rows

    return decode


def _make_avro(schema_path: str | None, read_schema: Callable[[int], str] | None) -> Decoder:
    try:
        import fastavro
    except ImportError as error:
        raise ImportError("Avro needs fastavro; install anystream[avro]") from error
    if (schema_path is None) == (read_schema is None):
        raise ValueError(
            "Avro messages need their schema: give ?avro_schema=FILE, or for Kafka the address of a schema registry, "
            "?registry=URL"
        )
    fixed = None if schema_path is None else fastavro.schema.load_schema(schema_path)
    parsed: dict[int, Any] = {}

    def find_schema(value: bytes) -> tuple[Any, bytes]:
        if read_schema is None:
            return fixed, value
        if len(value) < 5 or value[0] != 0:
            raise ValueError("the message does not begin with the number of an Avro schema, a zero and four bytes")
        number = int.from_bytes(value[1:5], "big")
        if number not in parsed:
            text = read_schema(number)
            try:
                parsed[number] = fastavro.parse_schema(json.loads(text))
            except Exception as error:  # JSON or Avro that cannot be read, or a type of another schema
                raise ValueError(f"the schema with the number {number} cannot be read as Avro ({error})") from None
        return parsed[number], value[5:]

    def decode(value: bytes) -> list[dict[str, Any]]:
        schema, body = find_schema(value)
        stream = io.BytesIO(body)
        try:
            found = fastavro.schemaless_reader(stream, schema, None)
        except Exception as error:  # the reader raises what its bytes lead to: EOFError, IndexError, UnicodeDecodeError
            raise ValueError(f"the message is not Avro of its schema ({error or type(error).__name__})") from None
        if stream.read(1):
            raise ValueError("the message is longer than its Avro record")
        return [_require_object(found, "Avro")]

    return decode
