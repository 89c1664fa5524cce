"""Records in the bodies of requests: JSON objects by column name, JSON lines, Arrow streams and raw float32."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from anystream.connectors.schema import Schema
from anystream.connectors.table_records import encode_records
from anystream.runtime.record_checks import RecordChecks
from anystream.runtime.records import Records
from anystream.server.errors import BAD_REQUEST, UNSUPPORTED_MEDIA, RequestError
from anystream.server.json_bodies import decode_json
from anystream.server.limits import Limits
from anystream.server.tensors import to_double

JSON, JSON_LINES = "application/json", "application/x-ndjson"
ARROW, RAW = "application/vnd.apache.arrow.stream", "application/octet-stream"
_SAME = {
    "": JSON,
    "text/json": JSON,
    "text/plain": JSON,
    "application/x-www-form-urlencoded": JSON,  # what curl -d and urllib send unless told otherwise
    "application/jsonl": JSON_LINES,
    "application/x-jsonlines": JSON_LINES,
}
_json = msgspec.json.Decoder()
_CHECKS = RecordChecks(None, takes_missing=True)


class Table(NamedTuple):
    """Columns of cells by name, and the number of records."""

    columns: Mapping[str, Sequence[Any]]
    n_records: int


def media_type(header: str | None) -> str:
    """Return the type of a body by its header; JSON if it has none.

    Examples
    --------
    >>> media_type("application/jsonl; charset=utf-8")
    'application/x-ndjson'
    """
    found = (header or "").partition(";")[0].strip().lower()
    return _SAME.get(found, found)


def read_records(body: bytes, kind: str, schema: Schema, limits: Limits) -> Records:
    """Return the records of a body; raise an error that names the record and the column if one is malformed.

    Parameters
    ----------
    body : bytes
        The body.
    kind : str
        Its type, see `media_type`.
    schema : Schema
        Columns of the model. Without a key column, a member ``key`` is the key of a record; without a label column, a
        member ``label`` its class.
    limits : Limits
        The maximum number of records.
    """
    if kind == RAW:
        return Records.from_features(_read_raw(body, schema.n_features, limits))
    read: Callable[[bytes, Schema, Limits], Table] | None = {
        JSON: _read_json,
        JSON_LINES: _read_json_lines,
        ARROW: _read_arrow,
    }.get(kind)
    if read is None:
        known = ", ".join((JSON, JSON_LINES, ARROW, RAW))
        raise RequestError(UNSUPPORTED_MEDIA, f"Content-Type is {kind[:60]!r}; send one of {known}")
    schema = with_roles(schema)
    table = read(body, schema, limits)
    found = encode_records(
        schema,
        table.columns,
        np.arange(table.n_records),
        default_key=np.full(table.n_records, None, dtype=object),
        show=lambda row: "",
    )
    if found.rejected:
        first = min(found.rejected, key=lambda rejected: rejected.offset)
        raise RequestError(BAD_REQUEST, f"record {first.offset}: {first.reason}")
    for row, key in enumerate(found.records.key.tolist()):
        if key is not None and (error := _CHECKS.key_error(key)) is not None:
            raise RequestError(BAD_REQUEST, f"record {row}: {error}")
    return found.records


def with_roles(schema: Schema) -> Schema:
    """Return a schema that names a key and a label column, and no time."""
    names = {column.name for column in schema.columns}
    return replace(
        schema,
        key=schema.key or (None if "key" in names else "key"),
        label=schema.label or (None if "label" in names else "label"),
        time=None,
        unknown="reject",
    )


def _read_json(body: bytes, schema: Schema, limits: Limits) -> Table:
    value = decode_json(_json, body)
    return _to_table([value] if isinstance(value, dict) else value, schema, limits)


def _read_json_lines(body: bytes, schema: Schema, limits: Limits) -> Table:
    objects: list[Any] = []
    for number, line in enumerate(body.split(b"\n"), 1):
        if line.strip():
            if len(objects) == limits.max_records:
                limits.check_records(len(objects) + 1)
            try:
                objects.append(decode_json(_json, line))
            except RequestError as error:
                raise RequestError(BAD_REQUEST, f"line {number}: {error.message}") from None
    return _to_table(objects, schema, limits)


def _to_table(objects: Any, schema: Schema, limits: Limits) -> Table:
    if not isinstance(objects, list):
        raise RequestError(BAD_REQUEST, "the body is no record; send an object by column name, or a list of them")
    limits.check_records(len(objects))
    inputs = {column.name for column in schema.columns}
    for row, found in enumerate(objects):
        if not isinstance(found, dict):
            raise RequestError(BAD_REQUEST, f"record {row} is no object; send its columns by name")
        if inputs.isdisjoint(found):
            names = ", ".join(sorted(inputs)[:8])
            raise RequestError(BAD_REQUEST, f"record {row} has no column of the model; it has {names}")
    present = [name for name in (*inputs, schema.key, schema.label) if name is not None]
    columns = {name: [found.get(name) for found in objects] for name in present}
    return Table(
        {name: cells for name, cells in columns.items() if name in inputs or any(map(_is_there, cells))}, len(objects)
    )


def _is_there(cell: Any) -> bool:
    return cell is not None


def _read_raw(body: bytes, n_features: int, limits: Limits) -> NDArray[np.float64]:
    if len(body) % (4 * n_features):
        raise RequestError(
            BAD_REQUEST,
            f"the body has {len(body)} bytes; send {n_features} float32 values, {4 * n_features} bytes, per record",
        )
    limits.check_records(len(body) // (4 * n_features))
    return to_double(np.frombuffer(body, dtype="<f4").reshape(-1, n_features))


def _read_arrow(body: bytes, schema: Schema, limits: Limits) -> Table:
    try:
        from anystream.server.arrow_bodies import read_arrow_stream
    except ImportError:
        raise RequestError(UNSUPPORTED_MEDIA, "the server reads no Arrow; install anystream[arrow] there") from None
    columns, n_records = read_arrow_stream(body, schema, limits)
    return Table(columns, n_records)
