"""Records from Parquet and Arrow files, and answers to Parquet; needs ``anystream[arrow]``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anystream.connectors.items import Items, Reject
from anystream.connectors.protocols import Answers, Polled
from anystream.connectors.schema import Schema, SchemaError

try:
    import pyarrow as pa  # type: ignore[import-untyped]  # ships no types
    import pyarrow.ipc as ipc  # type: ignore[import-untyped]  # ships no types
    import pyarrow.parquet as parquet  # type: ignore[import-untyped]  # ships no types
except ImportError as error:  # pragma: no cover  the tests have it
    raise ImportError("Parquet and Arrow files need pyarrow; install anystream[arrow]") from error

_BATCH = 8192  # rows decoded at a time


class ArrowSource:
    """Records from a ``.parquet``, ``.arrow`` or ``.feather`` file; the offset of a record is its row.

    Parameters
    ----------
    path : path
        The file.
    schema : Schema
        What the columns mean.
    """

    def __init__(self, path: str | os.PathLike[str], schema: Schema) -> None:
        self._path = Path(path)
        self.schema = schema
        self._names, self._n_rows = _shape(self._path)
        if absent := [column.name for column in schema.columns if column.name not in self._names]:
            raise SchemaError(
                f"{path}: there is no column {absent[0]!r}, which the model was fitted on; the table has "
                f"{', '.join(self._names)}"
            )
        numbers = {column.name for column in schema.columns if column.categories is None} | {schema.time}
        self._numbers = numbers - {schema.label, schema.key}
        self._batches: Iterator[Any] = iter(())
        self._ahead: dict[str, Any] = {}  # lists, and arrays of numbers
        self._ahead_n = 0
        self.offset = 0
        self.seek(0)

    @property
    def done(self) -> bool:
        """Every row was polled."""
        return self.offset >= self._n_rows

    def poll(self, most: int) -> Polled:
        """The next rows."""
        while self._ahead_n == 0 and not self.done:
            batch = next(self._batches)
            self._ahead = {name: self._cells(name, batch.column(name)) for name in batch.schema.names}
            self._ahead_n = batch.num_rows
        n = min(most, self._ahead_n)
        table = {name: cells[:n] for name, cells in self._ahead.items()}
        self._ahead = {name: cells[n:] for name, cells in self._ahead.items()}
        self._ahead_n -= n
        first, self.offset = self.offset, self.offset + n
        return self._items(table, first, n)

    def wait(self, seconds: float) -> None:
        """Return at once: a file is ready."""

    def seek(self, offset: int) -> None:
        """Go on from row `offset`."""
        wanted = [column.name for column in self.schema.columns]
        wanted += [n for n in (self.schema.label, self.schema.key, self.schema.time) if n in self._names]
        self._batches = _batches(self._path, wanted)
        self._ahead, self._ahead_n = {}, 0
        self.offset = 0
        while self.offset < offset:
            self.poll(offset - self.offset)

    def acknowledge(self, offset: int) -> None:
        """A file forgets nothing."""

    def close(self) -> None:
        """The file closes with the last batch."""

    def _cells(self, name: str, column: Any) -> Any:
        """Numbers as an array, whatever else as a list."""
        if name not in self._numbers or not pa.types.is_primitive(column.type):
            return column.to_pylist()
        try:
            return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
        except pa.ArrowException:
            return column.to_pylist()

    def _items(self, table: dict[str, Any], first: int, n: int) -> Polled:
        schema = self.schema
        features, faults = schema.encode(table, n)
        label = None if schema.label not in table else schema.labels(table[schema.label], faults)
        arrival = None if schema.time not in table else schema.times(table[schema.time], faults)
        offset = np.arange(first, first + n)
        key = np.array(table[schema.key], dtype=object) if schema.key in table else offset
        items = Items.of(features, key=key, offset=offset, arrival=arrival, label=label)
        rejects = [
            Reject(reason, first + row, None, key[row], _shown(table, row)) for row, reason in sorted(faults.items())
        ]
        if faults:
            items = items.take(~np.isin(np.arange(n), list(faults)))
        return Polled(items, rejects)


def _shown(table: dict[str, Any], row: int) -> str:
    cells = ((name, cells[row]) for name, cells in table.items())
    return str({name: cell.item() if isinstance(cell, np.generic) else cell for name, cell in cells})[:500]


class ParquetSink:
    """Answers as a Parquet file, complete when it is closed; it cannot be gone on with after a kill.

    Parameters
    ----------
    path : path
        The file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._writer: Any = None

    def write(self, answers: Answers) -> None:
        """Append the answers."""
        table = pa.table(
            {
                "key": answers.key.tolist(),
                "label": answers.label.tolist(),
                "confidence": answers.proba.max(axis=1),
                "steps": answers.steps,
                "certified": answers.certified,
                "late": answers.late,
            }
        )
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def flush(self) -> None:
        """Parquet is safe when it is closed, not before."""

    def position(self) -> int:
        """Nothing is safe before the end."""
        raise ValueError("a Parquet file cannot be part of a checkpoint; write JSON lines or CSV")

    def rewind(self, position: int) -> None:
        """Not possible."""
        raise ValueError("a Parquet file cannot be gone on with; write JSON lines or CSV")

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


def read_arrow_columns(path: str | os.PathLike[str], *, most: int | None = None) -> dict[str, list[Any]]:
    """The columns of a whole file, or of its first rows."""
    names, _ = _shape(Path(path))
    columns: dict[str, list[Any]] = {name: [] for name in names}
    n = 0
    for batch in _batches(Path(path), names):
        for name in names:
            columns[name].extend(batch.column(name).to_pylist())
        n += batch.num_rows
        if most is not None and n >= most:
            return {name: cells[:most] for name, cells in columns.items()}
    return columns


def _shape(path: Path) -> tuple[list[str], int]:
    if str(path) == "-":
        raise ValueError("Parquet and Arrow are read from files, not from standard input; name the file")
    try:
        if path.suffix == ".parquet":
            metadata = parquet.ParquetFile(path)
            return list(metadata.schema_arrow.names), int(metadata.metadata.num_rows)
        with ipc.open_file(path) as reader:
            n_rows = sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))
            return list(reader.schema.names), n_rows
    except pa.ArrowInvalid as error:
        kind = "Parquet" if path.suffix == ".parquet" else "Arrow"
        raise SchemaError(f"{path}: this is no {kind} file ({error})") from None


def _batches(path: Path, names: Sequence[str]) -> Iterator[Any]:
    if path.suffix == ".parquet":
        yield from parquet.ParquetFile(path).iter_batches(_BATCH, columns=list(names))
        return
    with ipc.open_file(path) as reader:
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i).select(list(names))
