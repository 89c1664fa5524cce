"""Parquet and Arrow files as sources, and Parquet as a sink; needs ``anystream[arrow]``."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.errors import RecordError
from anystream.connectors.answer_lines import name_kept
from anystream.connectors.byte_input import read_magic
from anystream.connectors.schema import Schema, SchemaError
from anystream.connectors.table_records import encode_records
from anystream.runtime.contracts import AnsweredRecords, PollResult

try:
    import pyarrow as pa  # type: ignore[import-untyped]  # ships no types
    import pyarrow.ipc as ipc  # type: ignore[import-untyped]  # ships no types
    import pyarrow.parquet as parquet  # type: ignore[import-untyped]  # ships no types
except ImportError as error:  # pragma: no cover  the tests have it
    raise ImportError("Parquet and Arrow files need pyarrow; install anystream[arrow]") from error

_BATCH = 8192  # records decoded at a time
_END_BYTES = 2**16  # bytes from either end by which a file is recognised


class ArrowSource:
    """Records from a ``.parquet``, ``.arrow`` or ``.feather`` file; the offset of a record is its row.

    Parameters
    ----------
    path : path
        The file.
    schema : Schema
        The meaning of the columns.
    """

    always_ready = True
    """All records are there from the start."""

    def __init__(self, path: str | os.PathLike[str], schema: Schema) -> None:
        self._path = Path(path)
        self.schema = schema
        self._names, self._n_records = _read_shape(self._path)
        schema.require_columns(self._names, path)
        numeric = {column.name for column in schema.columns if column.categories is None} | {schema.time}
        self._numeric = numeric - {schema.label, schema.key, *schema.keep}
        self._batches: Iterator[Any] = iter(())
        self._ahead: dict[str, Any] = {}  # lists of cells, and arrays of numbers, by column
        self._n_ahead = 0
        self.offset = 0
        self.seek(0)

    @property
    def done(self) -> bool:
        """Whether every record was polled."""
        return self.offset >= self._n_records

    @property
    def share_read(self) -> float:
        """Share of the records that were polled."""
        return self.offset / max(self._n_records, 1)

    def poll(self, max_records: int) -> PollResult:
        """Return the next records."""
        while self._n_ahead == 0 and not self.done:
            batch = next(self._batches)
            self._ahead = {name: self._read_cells(name, batch.column(name)) for name in batch.schema.names}
            self._n_ahead = batch.num_rows
        n = min(max_records, self._n_ahead)
        table = {name: cells[:n] for name, cells in self._ahead.items()}
        self._ahead = {name: cells[n:] for name, cells in self._ahead.items()}
        self._n_ahead -= n
        first, self.offset = self.offset, self.offset + n
        offset = np.arange(first, first + n)
        return encode_records(
            self.schema,
            table,
            offset,
            default_key=offset,
            show=lambda row: _show_record(table, row),
        )

    def wait(self, seconds: float) -> None:
        """Return at once: a file is always ready."""

    def fingerprint(self) -> dict[str, Any]:
        """Return the size of the file, and a hash of its two ends: they hold its schema and the place of every part."""
        size = self._path.stat().st_size
        with open(self._path, "rb") as file:
            ends = file.read(_END_BYTES)
            file.seek(max(size - _END_BYTES, 0))
            ends += file.read(_END_BYTES)
        return {"bytes": size, "hash": hashlib.sha256(ends).hexdigest()}

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from row `offset`."""
        if fingerprint is not None and fingerprint != self.fingerprint():
            raise ValueError(f"{self._path} is not the file that the run has read; give the input of that run")
        self._batches = _read_batches(self._path, [name for name in self.schema.used_names if name in self._names])
        self._ahead, self._n_ahead = {}, 0
        self.offset = 0
        while self.offset < offset:
            self.poll(offset - self.offset)

    def acknowledge(self, offset: int) -> None:
        """Do nothing: a file keeps its records."""

    def close(self) -> None:
        """Do nothing: the file is closed after its last batch."""

    def _read_cells(self, name: str, column: Any) -> Any:
        """Return numbers as an array, anything else as a list."""
        if name not in self._numeric or not pa.types.is_primitive(column.type):
            return column.to_pylist()
        try:
            return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
        except pa.ArrowException:
            return column.to_pylist()


def _show_record(table: dict[str, Any], row: int) -> str:
    cells = ((name, cells[row]) for name, cells in table.items())
    shown = {name: cell.item() if isinstance(cell, np.generic) else cell for name, cell in cells}
    try:
        return str(shown)
    except RecursionError:
        return "a record that is nested too deeply to show"


class ParquetSink:
    """Answers as a Parquet file, complete when it is closed; a run that writes it cannot be resumed.

    Parameters
    ----------
    path : path
        The file.
    unknown : bool, default=False
        Add a column that tells whether something in the record was unknown.
    keep : sequence of str
        Names of the cells that records carry into their answers; they are written as texts.
    confident : bool, default=False
        Add a column that tells whether a test of the classifier ended the work without a certificate.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        unknown: bool = False,
        keep: Sequence[str] = (),
        confident: bool = False,
    ) -> None:
        self._path = Path(path)
        self._unknown = unknown
        self._confident = confident
        self._keep = name_kept(keep)
        self._writer: Any = None
        self._key_type: Any = None

    def write(self, answers: AnsweredRecords) -> None:
        """Append the answers; the first ones decide whether keys are integers or texts."""
        keys = answers.key.tolist()
        if self._key_type is None:
            integers = all(isinstance(key, int) and abs(key) < 2**63 for key in keys)
            self._key_type = pa.int64() if integers else pa.string()
        if pa.types.is_string(self._key_type):
            keys = [None if key is None else str(key) for key in keys]
        try:
            table = pa.table(
                {
                    "key": pa.array(keys, type=self._key_type),
                    "label": answers.label.tolist(),
                    "confidence": answers.proba.max(axis=1),
                    "steps": answers.steps,
                    "certified": answers.certified,
                    "late": answers.late,
                    "reached": np.ones(len(keys), dtype=np.bool_) if answers.reached is None else answers.reached,
                }
                | ({"unknown": answers.unknown} if self._unknown else {})
                | ({"confident": _marks(answers)} if self._confident else {})
                | self._kept_columns(answers)
            )
            table = table if self._writer is None else table.cast(self._writer.schema)
        except (pa.ArrowException, UnicodeError, OverflowError, TypeError) as error:
            raise RecordError(f"a Parquet file with keys of type {self._key_type} cannot hold it ({error})") from None
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def _kept_columns(self, answers: AnsweredRecords) -> dict[str, Any]:
        if not self._keep or answers.kept is None:
            return {}
        columns = zip(*answers.kept, strict=True) if len(answers.kept) else ((),) * len(self._keep)
        return {
            name: pa.array([None if cell is None else str(cell) for cell in cells], type=pa.string())
            for name, cells in zip(self._keep, columns, strict=True)
        }

    def flush(self) -> None:
        """Do nothing: a Parquet file is readable only after `close`."""

    def mark(self, *, complete: bool) -> dict[str, Any]:
        """Raise: a Parquet file has no valid position before its end."""
        raise ValueError("a Parquet file cannot be part of a checkpoint; write JSON lines or CSV")

    def sync(self) -> None:
        """Do nothing: a Parquet file is readable only after `close`."""

    def rewind(self, mark: dict[str, Any] | None) -> None:
        """Raise: a Parquet file cannot be truncated."""
        raise ValueError("a Parquet file cannot be rewound to a checkpoint; write JSON lines or CSV")

    def close(self) -> None:
        """Write the end of the file and close it."""
        if self._writer is not None:
            self._writer.close()


def _marks(answers: AnsweredRecords) -> NDArray[np.bool_]:
    return np.zeros(len(answers.key), dtype=np.bool_) if answers.confident is None else answers.confident


def read_arrow_chunks(path: str | os.PathLike[str]) -> Iterator[tuple[dict[str, list[Any]], range]]:
    """Yield the columns of a file in parts, with the numbers of the records, from 1."""
    names, _ = _read_shape(Path(path))
    n = 0
    for batch in _read_batches(Path(path), names):
        yield {name: batch.column(name).to_pylist() for name in names}, range(n + 1, n + 1 + batch.num_rows)
        n += batch.num_rows


def read_arrow_columns(path: str | os.PathLike[str], *, max_records: int | None = None) -> dict[str, list[Any]]:
    """Return the columns of a whole file, or of its first records."""
    columns: dict[str, list[Any]] = {name: [] for name in _read_shape(Path(path))[0]}
    for part, numbers in read_arrow_chunks(path):
        for name, cells in part.items():
            columns[name].extend(cells)
        if max_records is not None and numbers.stop > max_records:
            break
    return {name: cells[:max_records] for name, cells in columns.items()}


def _is_parquet(path: Path) -> bool:
    """Whether a file is Parquet, by its first bytes, and by its name if they tell nothing."""
    magic = read_magic(path)
    return path.suffix == ".parquet" if magic is None else magic == "Parquet"


def _read_shape(path: Path) -> tuple[list[str], int]:
    """Return the names of the columns, and the number of records."""
    if str(path) == "-":
        raise ValueError("Parquet and Arrow cannot be read from standard input; name a file")
    is_parquet = _is_parquet(path)
    try:
        with _name_damage(path):
            return _read_parquet_shape(path) if is_parquet else _read_arrow_shape(path)
    except pa.ArrowInvalid as error:
        kind = "a Parquet" if is_parquet else "an Arrow"
        raise SchemaError(f"{path}: this is not {kind} file ({error})") from None


def _read_parquet_shape(path: Path) -> tuple[list[str], int]:
    metadata = parquet.ParquetFile(path)
    return list(metadata.schema_arrow.names), int(metadata.metadata.num_rows)


def _read_arrow_shape(path: Path) -> tuple[list[str], int]:
    with ipc.open_file(path) as reader:
        n_records = sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))
        return list(reader.schema.names), n_records


def _read_batches(path: Path, names: Sequence[str]) -> Iterator[Any]:
    with _name_damage(path):
        if _is_parquet(path):
            yield from parquet.ParquetFile(path).iter_batches(_BATCH, columns=list(names))
            return
        with ipc.open_file(path) as reader:
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i).select(list(names))


@contextmanager
def _name_damage(path: Path) -> Iterator[None]:
    """Raise SchemaError for damaged data, for which pyarrow also raises OSError, as for errors of the system."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, pa.ArrowInvalid) or getattr(error, "errno", None) is not None:
            raise
        raise SchemaError(f"{path} is damaged ({str(error).strip()}); write it again") from None
