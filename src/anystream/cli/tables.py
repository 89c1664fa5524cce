"""Files of the command line: which connector reads or writes which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from anystream.connectors.csv_file import CsvSource, read_csv_columns
from anystream.connectors.file_sink import CsvSink, JsonLinesSink
from anystream.connectors.json_lines import JsonLinesSource, read_json_columns
from anystream.connectors.lines import LineReader
from anystream.connectors.schema import Schema, SchemaError
from anystream.model_file import read_model

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


_PACKED = {".gz": "gunzip -c", ".bz2": "bunzip2 -c", ".xz": "xz -dc", ".zst": "zstd -dc", ".zip": "unzip -p"}


def check_apart(read: Mapping[str, str | None], written: Mapping[str, str | None]) -> None:
    """Refuse to write a file that is read or written otherwise; files by what they are called in the message."""
    taken: dict[Path, str] = {}
    for name, path in [*read.items(), *written.items()]:
        if path is None or path == "-":
            continue
        place = Path(path).resolve()
        if name in written and place in taken:
            raise ValueError(f"{name} is {path}, which is {taken[place]}; write to another file")
        if place.is_file() or not place.exists():  # a pipe or /dev/null can serve many
            taken[place] = name


def format_of(path: str, chosen: str | None, default: str) -> str:
    """The format of a file: as chosen, else by the end of its name."""
    suffix = Path(path).suffix.lower()
    if suffix in _PACKED:
        raise ValueError(
            f"{path} is packed; unpack it first, or for classify: {_PACKED[suffix]} {path} | anystream ..."
        )
    if chosen is not None:
        if chosen not in FORMATS:
            raise ValueError(f"the format is {chosen!r}; use one of {', '.join(FORMATS)}")
        return chosen
    return default if path == "-" else _SUFFIXES.get(suffix, default)


def read_columns(path: str, chosen: str | None = None, delimiter: str | None = None) -> dict[str, list[Any]]:
    """A whole table, by column."""
    kind = format_of(path, chosen, "csv")
    if kind == "arrow":
        columns: dict[str, list[Any]] = _arrow().read_arrow_columns(path)
        return columns
    if kind == "jsonl":
        return read_json_columns(path)
    return dict(read_csv_columns(path, delimiter=delimiter))


def open_source(path: str, schema: Schema, chosen: str | None = None, delimiter: str | None = None) -> Any:
    """A source of records; standard input says by its first byte whether it is JSON lines or CSV."""
    if path == "-" and chosen is None:
        reader = LineReader(path)
        if reader.first_byte() in (b"{", b""):
            return JsonLinesSource(reader, schema)
        return CsvSource(reader, schema, delimiter=delimiter)
    kind = format_of(path, chosen, "jsonl")
    if kind == "arrow":
        return _arrow().ArrowSource(path, schema)
    if kind == "jsonl":
        return JsonLinesSource(path, schema)
    return CsvSource(path, schema, delimiter=delimiter)


def open_sink(path: str, chosen: str | None, *, proba: bool, resume: bool) -> Any:
    """A sink for answers."""
    kind = format_of(path, chosen, "jsonl")
    if kind == "arrow":
        if proba or resume:
            raise ValueError("a Parquet file takes neither --proba nor --checkpoint; write to .jsonl or .csv")
        return _arrow().ParquetSink(path)
    return (JsonLinesSink if kind == "jsonl" else CsvSink)(path, proba=proba, resume=resume)


def schema_of_model(path: str, model: Any) -> Schema:
    """The schema that `anystream fit` kept, or for other models numeric columns by the names of their features."""
    notes = read_model(path, mmap=True).metadata.get("notes")
    if isinstance(notes, dict) and "schema" in notes:
        return Schema.from_json(notes["schema"])
    from anystream.connectors.schema import Column

    kind = model.classes_.dtype.kind
    label_type = "int" if kind in "iu" else "float" if kind == "f" else "text"
    return Schema(tuple(Column(str(name)) for name in model.columns_), label_type=label_type)


def labelled_rows(schema: Schema, columns: dict[str, list[Any]], path: str) -> tuple[Any, list[Any]]:
    """Features and labels of a whole table; a row that is not sound is an error that names it."""
    if schema.label is None or schema.label not in columns:
        raise SchemaError(f"{path}: name the column that holds the class with --label; it has {', '.join(columns)}")
    n = len(columns[schema.label])
    if n == 0:
        raise SchemaError(f"{path}: there are no records below the header")
    features, faults = schema.encode(columns, n)
    labels = schema.labels(columns[schema.label], faults)
    unlabelled = next((row for row, label in enumerate(labels) if label is None and row not in faults), None)
    if unlabelled is not None:
        faults[unlabelled] = f"column {schema.label!r}, the label, is empty"
    if faults:
        row = min(faults)
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        raise SchemaError(f"{path}: record {row + 1}: {faults[row]}{more}; correct the file")
    return features, labels


def absent_columns(schema: Schema, columns: Sequence[str]) -> list[str]:
    """Columns that the model was fitted on and the table lacks."""
    return [column.name for column in schema.columns if column.name not in columns]


def _arrow() -> Any:
    return import_module("anystream.connectors.arrow")
