"""Base class of CSV and JSON lines: lines of text that become records or dead letters."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.lines import MAX_LINE_BYTES, Line, LineBlock, LineReader
from anystream.connectors.schema import Schema, SchemaError
from anystream.connectors.table_records import encode_records
from anystream.runtime.contracts import PollResult
from anystream.runtime.records import Records, RejectedRecord, shorten

_FEW_LINES = 64  # parsed one by one from one that is not plain; twice as many each time if there are more of them


class TextSource(ABC):
    """Records from the lines of a file or of standard input; the offset of a record is its byte.

    Parameters
    ----------
    path : path, "-" or LineReader
        A file, standard input, or a reader whose first byte was peeked at.
    schema : Schema
        The meaning of the columns.
    max_line_bytes : int, default=1_000_000
        Maximum number of bytes in a line; longer ones are rejected.
    rename : mapping of str to str, optional
        Names of columns that stand for those of the schema, where a table lacks these.

    Notes
    -----
    A file can be read again from any offset. Standard input cannot go back, but a new process can skip to an offset
    if it is given the same bytes again. Acknowledging does nothing, because a file keeps its records.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | LineReader,
        schema: Schema,
        *,
        max_line_bytes: int = MAX_LINE_BYTES,
        rename: Mapping[str, str] | None = None,
    ) -> None:
        self.schema = schema
        self._rename = rename or {}
        self._reader = path if isinstance(path, LineReader) else LineReader(path, max_line_bytes=max_line_bytes)
        self._n_by_line = 0  # lines that were parsed one by one since the last plain ones

    @property
    def offset(self) -> int:
        """Where the next record begins."""
        return self._reader.offset

    @property
    def done(self) -> bool:
        """Whether every line was read."""
        return self._reader.done

    def poll(self, max_records: int) -> PollResult:
        """Return the next records that are available already."""
        block = self._reader.peek_block(max_records) if self._reads_plain_lines() else None
        if block is None or block.too_long:
            return self._poll_lines(max_records)
        features, columns = self._read_plain_lines(block)
        if len(features):
            self._n_by_line = 0
            block = self._reader.read_block(len(features))
            return self._encode(columns, block.offsets, block.numbers, block.line, features)
        n_lines = min(max(self._n_by_line, _FEW_LINES), max_records)
        self._n_by_line += n_lines
        return self._poll_lines(n_lines)

    def _poll_lines(self, max_records: int) -> PollResult:
        """Return the next records, parsed line by line."""
        table, lines, rejected = self.read_cells(max_records)
        found = PollResult(Records.empty(self.schema.n_features))
        if lines:
            numbers = np.array([line.number for line in lines], dtype=np.int64)
            offsets = np.array([line.offset for line in lines], dtype=np.int64)
            found = self._encode(table, offsets, numbers, lambda row: lines[row].text)
        return PollResult(found.records, sorted([*rejected, *found.rejected], key=lambda record: record.offset))

    def _encode(
        self,
        table: Mapping[str, Sequence[Any]],
        offsets: NDArray[np.int64],
        numbers: NDArray[np.int64],
        show: Callable[[int], bytes],
        features: NDArray[np.float64] | None = None,
    ) -> PollResult:
        """Return records from the cells of lines, and those that are malformed; `show` returns a line."""
        return encode_records(
            self.schema,
            table,
            offsets,
            default_key=numbers,
            line=numbers,
            show=lambda row: _decode(show(row)),
            features=features,
        )

    def read_cells(self, max_records: int) -> tuple[Mapping[str, Sequence[Any]], list[Line], list[RejectedRecord]]:
        """Return the cells of the next lines by column, the line of each record, and the malformed lines."""
        lines = [line for line in self._read_lines(max_records) if line.text.strip() or line.too_long]
        too_long = [
            reject_line(line, f"the line is longer than {self._reader.max_line_bytes} bytes")
            for line in lines
            if line.too_long
        ]
        kept = [line for line in lines if not line.too_long] if too_long else lines
        if not kept:
            return {}, [], too_long
        table, kept, malformed = self._parse(kept)
        return table, kept, [*too_long, *malformed]

    @property
    def name(self) -> str:
        """Name of the input in messages."""
        return self._reader.name

    @property
    def always_ready(self) -> bool:
        """Whether all records are there from the start: those of a file wait without any time passing for them."""
        return self._reader.is_file

    @property
    def share_read(self) -> float | None:
        """Share of the file that was read; None for a pipe."""
        return self._reader.share_read

    def wait(self, seconds: float) -> None:
        """Return when more may be ready."""
        self._reader.wait(seconds)

    def fingerprint(self) -> dict[str, Any]:
        """Return the number of bytes read so far, and their hash."""
        return self._reader.fingerprint()

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from byte `offset`."""
        self._reader.seek(offset, fingerprint)

    def acknowledge(self, offset: int) -> None:  # noqa: B027  not abstract: no subclass has anything to do
        """Do nothing: a file keeps its records."""

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def _read_lines(self, max_lines: int) -> list[Line]:
        return self._reader.read(max_lines)

    def _reads_plain_lines(self) -> bool:
        """Whether the next lines may be read by `_read_plain_lines`."""
        return False

    def _read_plain_lines(self, block: LineBlock) -> tuple[NDArray[np.float64], Mapping[str, Sequence[Any]]]:
        """Return the features of the first lines of a block, in native code, and their other columns.

        They end before the first line that needs the parser of single lines. No feature is infinite.
        """
        return np.empty((0, self.schema.n_features)), {}

    @abstractmethod
    def _parse(self, lines: Sequence[Line]) -> tuple[Mapping[str, Sequence[Any]], list[Line], list[RejectedRecord]]:
        """Return the cells of the lines by column, the line of each record, and the malformed lines."""


def read_chunks(source: TextSource, max_records: int) -> Iterator[tuple[dict[str, list[Any]], list[int]]]:
    """Yield the cells of a whole source in parts, by column, with the line number of each record.

    Raises
    ------
    SchemaError
        At the first line that is malformed.
    """
    while not source.done:
        table, lines, rejected = source.read_cells(max_records)
        if rejected:
            first = min(rejected, key=lambda found: found.offset)
            raise SchemaError(f"{source.name}: {first.describe()}; correct the file")
        if lines:
            yield {name: list(cells) for name, cells in table.items()}, [line.number for line in lines]
        else:
            source.wait(1.0)


def reject_line(line: Line, reason: str) -> RejectedRecord:
    """Return a line as a rejected record."""
    return RejectedRecord(reason, line.offset, line.number, None, shorten(_decode(line.text)))


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")
