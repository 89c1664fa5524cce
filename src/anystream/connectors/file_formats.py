"""File formats, and the connector for each of them."""

from __future__ import annotations

import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from os import fstat
from pathlib import Path
from typing import Any, Protocol

from anystream.connectors.byte_input import read_magic
from anystream.connectors.csv_file import CsvSource, read_csv_chunks
from anystream.connectors.file_sink import CsvSink, JsonLinesSink
from anystream.connectors.json_lines import JsonLinesSource, read_json_chunks
from anystream.connectors.lines import LineReader
from anystream.connectors.schema import Schema
from anystream.runtime.contracts import Sink, Source

FORMATS = ("csv", "jsonl", "arrow")
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "arrow",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

Chunks = Iterator[tuple[Mapping[str, Sequence[Any]], Sequence[int]]]
"""Parts of a table: cells by column, and the line or number of each record."""


class ReadableTable(Protocol):
    """A whole table that is read in parts."""

    @property
    def name(self) -> str:
        """Name for messages."""

    @property
    def unit(self) -> str:
        """What the number of a record counts: line or record."""

    def chunks(self) -> Chunks:
        """Yield the parts of the table, from its start."""


def choose_output_format(path: str, chosen: str | None) -> str:
    """Return the format of an output: the chosen one, otherwise by the end of its name, otherwise JSON lines."""
    suffix = Path(path).suffix.lower()
    if suffix in _COMPRESSED:
        raise ValueError(
            f"{path} would not be compressed; write to another name, or to standard output and compress that"
        )
    return _check_format(chosen) or _SUFFIXES.get(suffix, "jsonl")


class Table:
    """A whole table that is read in parts, and as often as needed.

    Parameters
    ----------
    path : str
        A file, compressed or not, or "-" for standard input.
    chosen : str, optional
        Its format; by default it is recognised by its content and its name.
    delimiter : str, optional
        Delimiter of a CSV file.
    """

    def __init__(self, path: str, chosen: str | None = None, delimiter: str | None = None) -> None:
        self.name = "standard input" if path == "-" else path
        self._delimiter = delimiter
        self._copy = _copy_pipe() if path == "-" and not stat.S_ISREG(fstat(sys.stdin.fileno()).st_mode) else None
        self._path = path if self._copy is None else self._copy.name
        self._format = _choose_input_format(self._path, chosen)
        self.unit = "record" if self._format == "arrow" else "line"
        """What the number of a record counts."""
        self.share_read: float | None = 0.0
        """Share of the table that was read."""

    def chunks(self) -> Chunks:
        """Yield the parts of the table, from its start."""
        if self._format == "arrow":
            from anystream.connectors.arrow import read_arrow_chunks  # pyarrow is an extra

            yield from read_arrow_chunks(self._path)
            return
        reader = LineReader(self._path)
        reader.name = self.name
        if self._path == "-":
            reader.seek(0)
        chunks: Chunks = (
            read_json_chunks(reader) if self._format == "jsonl" else read_csv_chunks(reader, delimiter=self._delimiter)
        )
        for chunk in chunks:
            self.share_read = reader.share_read
            yield chunk
        reader.close()


def open_source(
    path: str,
    schema: Schema,
    chosen: str | None = None,
    delimiter: str | None = None,
    *,
    rename: Mapping[str, str] | None = None,
    hashed: bool = True,
) -> Source:
    """Return a source of records; its format is recognised by its content and its name.

    Without `hashed`, a text has no fingerprint by which a later run could recognise it.
    """
    if chosen == "arrow" or (path != "-" and _is_arrow(path, chosen)):
        from anystream.connectors.arrow import ArrowSource

        return ArrowSource(path, schema)
    reader = LineReader(path, hashed=hashed)
    if _choose_text_format(reader, path, chosen) == "jsonl":
        return JsonLinesSource(reader, schema, rename=rename)
    return CsvSource(reader, schema, delimiter=delimiter, rename=rename)


def open_sink(
    path: str,
    chosen: str | None,
    schema: Schema,
    *,
    proba: bool,
    resume: bool,
    append: bool = False,
    confident: bool = False,
) -> Sink:
    """Return a sink for answers; `resume` keeps what the file contains, `append` keeps it for good.

    `confident` adds the mark of answers that a test ended to every answer.
    """
    file_format = choose_output_format(path, chosen)
    unknown = schema.has_categories and schema.unknown == "missing"
    if file_format == "arrow":
        from anystream.connectors.arrow import ParquetSink

        return ParquetSink(path, unknown=unknown, keep=schema.keep, confident=confident)
    if file_format == "jsonl":
        return JsonLinesSink(path, proba=proba, keep=schema.keep, resume=resume, append=append)
    return CsvSink(
        path, proba=proba, unknown=unknown, keep=schema.keep, confident=confident, resume=resume, append=append
    )


def _check_format(chosen: str | None) -> str | None:
    if chosen is not None and chosen not in FORMATS:
        raise ValueError(f"the format is {chosen!r}; use one of {', '.join(FORMATS)}")
    return chosen


def _is_arrow(path: str, chosen: str | None) -> bool:
    """Whether a file is Parquet or Arrow."""
    if chosen is not None:
        return _check_format(chosen) == "arrow"
    return read_magic(path) is not None or _SUFFIXES.get(Path(path).suffix.lower()) == "arrow"


def _choose_input_format(path: str, chosen: str | None) -> str:
    if path != "-" and _is_arrow(path, chosen):
        return "arrow"
    reader = LineReader(path)
    found = _choose_text_format(reader, path, chosen)
    reader.close()
    return found


def _choose_text_format(reader: LineReader, path: str, chosen: str | None) -> str:
    """Return the format of a text: the chosen one, JSON lines if it begins with a brace, otherwise by its name."""
    if chosen is not None:
        return str(_check_format(chosen))
    name = Path(path)
    suffix = name.with_suffix("").suffix if name.suffix.lower() in _COMPRESSED else name.suffix
    by_name = _SUFFIXES.get(suffix.lower(), "csv")
    if by_name == "jsonl":
        return by_name
    return "jsonl" if reader.peek_first_byte() == b"{" else "csv"


def _copy_pipe() -> Any:
    """Return a temporary file with everything that standard input has: a table is read more than once."""
    copy = tempfile.NamedTemporaryFile(prefix="anystream-")  # noqa: SIM115  removed when the table is freed
    shutil.copyfileobj(sys.stdin.buffer, copy)
    copy.flush()
    return copy
