"""Arrow streams in requests and responses; needs ``anystream[arrow]``."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anystream.connectors.schema import Schema
from anystream.server.errors import BAD_REQUEST, RequestError
from anystream.server.limits import Limits

try:
    import pyarrow as pa  # type: ignore[import-untyped]  # ships no types
    import pyarrow.ipc as ipc  # type: ignore[import-untyped]  # ships no types
except ImportError as error:  # pragma: no cover  the tests have it
    raise ImportError("Arrow streams need pyarrow; install anystream[arrow]") from error


def read_arrow_stream(body: bytes, schema: Schema, limits: Limits) -> tuple[Mapping[str, Sequence[Any]], int]:
    """Return the columns of the model, key and label in a stream, and the number of records."""
    wanted = {column.name for column in schema.columns} | {schema.key, schema.label}
    try:
        if _has_compressed_buffers(body):  # a few bytes could become any number of gigabytes
            raise RequestError(BAD_REQUEST, "the Arrow stream has compressed buffers; write it without compression")
        with ipc.open_stream(pa.BufferReader(body)) as reader:
            names = [name for name in reader.schema.names if name in wanted]
            if len(set(names)) < len(names):
                raise RequestError(BAD_REQUEST, "the stream has a column twice; name each once")
            batches, n_records = [], 0
            for batch in reader:
                n_records += batch.num_rows
                if n_records > limits.max_records:
                    limits.check_records(n_records)
                batch = batch.select(names)
                batch.validate(full=True)
                batches.append(batch)
            table = pa.Table.from_batches(batches, schema=batches[0].schema) if batches else None
    except (pa.ArrowException, OSError, KeyError, IndexError, UnicodeError, struct.error) as error:
        raise RequestError(BAD_REQUEST, f"the body is no valid Arrow stream: {str(error)[:200]}") from None
    limits.check_records(n_records)
    assert table is not None
    if not any(column.name in names for column in schema.columns):
        raise RequestError(
            BAD_REQUEST, f"the stream has no column of the model; it has {schema.columns[0].name!r}, ..."
        )
    numeric = {column.name for column in schema.columns if column.categories is None}
    return {name: _read_cells(table.column(name), as_numbers=name in numeric) for name in names}, n_records


# A message of the stream begins with its metadata, a table of FlatBuffers: an offset to the list of its fields' places,
# in which 0 is an absent field. Field 1 of the message is the type of its header, field 2 the header.
_DICTIONARY, _RECORDS = 2, 3  # types of headers
_COMPRESSION = 3  # field of a record batch


def _has_compressed_buffers(body: bytes) -> bool:
    reader = ipc.MessageReader.open_stream(pa.BufferReader(body))
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return False
        content = message.metadata.to_pybytes()
        root = _follow(content, 0)
        kind, header = content[root + _place(content, root, 1)], _follow(content, root + _place(content, root, 2))
        if kind == _DICTIONARY:
            header = _follow(content, header + _place(content, header, 1))
        if kind in (_DICTIONARY, _RECORDS) and _place(content, header, _COMPRESSION):
            return True


def _follow(content: bytes, at: int) -> int:
    """Return where the offset at a place leads to."""
    return at + int(struct.unpack_from("<I", content, at)[0])


def _place(content: bytes, table: int, field: int) -> int:
    """Return the place of a field in a table, relative to it; 0 if it is absent."""
    places = table - int(struct.unpack_from("<i", content, table)[0])
    n_bytes = int(struct.unpack_from("<H", content, places)[0])
    return int(struct.unpack_from("<H", content, places + 4 + 2 * field)[0]) if 6 + 2 * field <= n_bytes else 0


def _read_cells(column: Any, *, as_numbers: bool) -> Any:
    """Return numbers as an array, anything else as a list."""
    if as_numbers and pa.types.is_primitive(column.type):
        try:
            return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
        except pa.ArrowException:
            pass
    return column.to_pylist()


def write_arrow_stream(columns: Mapping[str, Any]) -> bytes:
    """Return a table as a stream."""
    table = pa.table(dict(columns))
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content
