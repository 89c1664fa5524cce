"""File formats of the command line, and the connector for each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anystream.connectors.csv_file import CsvSource, read_csv_columns
from anystream.connectors.file_sink import CsvSink, JsonLinesSink
from anystream.connectors.json_lines import JsonLinesSource, read_json_columns
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
_DECOMPRESSORS = {".gz": "gunzip -c", ".bz2": "bunzip2 -c", ".xz": "xz -dc", ".zst": "zstd -dc", ".zip": "unzip -p"}


def choose_format(path: str, chosen: str | None, default: str) -> str:
    """Return the format of a file: the chosen one, otherwise by the suffix of its name."""
    suffix = Path(path).suffix.lower()
    if suffix in _DECOMPRESSORS:
        raise ValueError(
            f"{path} is compressed; decompress it first, or for classify: {_DECOMPRESSORS[suffix]} {path} | "
            "anystream ..."
        )
    if chosen is not None:
        if chosen not in FORMATS:
            raise ValueError(f"the format is {chosen!r}; use one of {', '.join(FORMATS)}")
        return chosen
    return default if path == "-" else _SUFFIXES.get(suffix, default)


def read_columns(path: str, chosen: str | None = None, delimiter: str | None = None) -> dict[str, list[Any]]:
    """Return a whole table as columns of cells."""
    file_format = choose_format(path, chosen, "csv")
    if file_format == "arrow":
        from anystream.connectors.arrow import read_arrow_columns  # pyarrow is an extra

        return read_arrow_columns(path)
    if file_format == "jsonl":
        return read_json_columns(path)
    return dict(read_csv_columns(path, delimiter=delimiter))


def open_source(path: str, schema: Schema, chosen: str | None = None, delimiter: str | None = None) -> Source:
    """Return a source of records; the first byte of standard input tells whether it is JSON lines or CSV."""
    if path == "-" and chosen is None:
        reader = LineReader(path)
        if reader.peek_first_byte() in (b"{", b""):
            return JsonLinesSource(reader, schema)
        return CsvSource(reader, schema, delimiter=delimiter)
    file_format = choose_format(path, chosen, "jsonl")
    if file_format == "arrow":
        from anystream.connectors.arrow import ArrowSource

        return ArrowSource(path, schema)
    if file_format == "jsonl":
        return JsonLinesSource(path, schema)
    return CsvSource(path, schema, delimiter=delimiter)


def open_sink(path: str, chosen: str | None, *, proba: bool, resume: bool) -> Sink:
    """Return a sink for answers; `resume` keeps what the file contains."""
    file_format = choose_format(path, chosen, "jsonl")
    if file_format == "arrow":
        from anystream.connectors.arrow import ParquetSink

        return ParquetSink(path)
    return (JsonLinesSink if file_format == "jsonl" else CsvSink)(path, proba=proba, resume=resume)
