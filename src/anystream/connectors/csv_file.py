"""CSV as a source."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.connectors.lines import MAX_LINE_BYTES, SPACE, Line, LineBlock, LineReader
from anystream.connectors.schema import Schema, SchemaError
from anystream.connectors.text_source import TextSource, read_chunks, reject_line
from anystream.runtime.records import RejectedRecord, shorten

_DELIMITERS = ",;\t|"
_MAX_QUOTED_LINES = 100  # maximum number of lines in a quoted record
_CHUNK_RECORDS = 8192  # records of a table read at a time


class CsvSource(TextSource):
    """Records from a CSV file or standard input; the first line names the columns.

    Parameters
    ----------
    path : path, "-" or LineReader
        A file, standard input, or a reader whose first byte was peeked at.
    schema : Schema
        The meaning of the columns.
    delimiter : str, optional
        The character between cells; by default that of ``, ; | tab`` which is most frequent in the first line.
    max_line_bytes, rename
        See `TextSource`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | LineReader,
        schema: Schema,
        *,
        delimiter: str | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
        rename: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(path, schema, max_line_bytes=max_line_bytes, rename=rename)
        self._open_quote: list[Line] = []  # lines of a record whose closing quote was not read yet
        header, self.delimiter = _read_header(self._reader, delimiter)
        self.header = header
        for old, new in self._rename.items():
            if old in header and new not in header:
                header[header.index(old)] = new
        if header:  # else the input is empty
            schema.require_columns(self.header, self._reader.name)
        self._number_places = _find_places(self.header, schema.number_names)
        self._text_places = _find_places(self.header, schema.text_names)
        self._features = self._find_features()
        self._may_be_plain = not schema.has_categories and not schema.keep and len(self.delimiter.encode()) == 1

    @property
    def offset(self) -> int:
        """Where the next record begins."""
        return self._open_quote[0].offset if self._open_quote else self._reader.offset

    @property
    def done(self) -> bool:
        """Whether every record was read."""
        return not self._open_quote and self._reader.done

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from byte `offset`."""
        self._open_quote = []
        super().seek(offset, fingerprint)

    def _reads_plain_lines(self) -> bool:
        return self._may_be_plain and not self._open_quote

    def _read_plain_lines(self, block: LineBlock) -> tuple[NDArray[np.float64], Mapping[str, Sequence[Any]]]:
        n, n_texts = len(block), len(self._text_places)
        numbers = np.empty((n, len(self._number_places)))
        starts, ends = np.empty((2, n, n_texts), dtype=np.int64)
        n_plain = _native.read_number_lines(
            block.text,
            block.starts,
            block.ends,
            self.delimiter,
            len(self.header),
            self._number_places,
            self._text_places,
            numbers,
            starts,
            ends,
        )
        numbers = numbers[:n_plain]
        columns: dict[str, Any] = {self.header[p]: numbers[:, i] for i, p in enumerate(self._number_places)}
        for i, place in enumerate(self._text_places):
            bounds = zip(starts[:n_plain, i].tolist(), ends[:n_plain, i].tolist(), strict=True)
            columns[self.header[place]] = [block.text[start:end].decode() for start, end in bounds]
        return numbers if self._features is None else numbers[:, self._features], columns

    def _find_features(self) -> list[int] | None:
        """Return which of the columns of numbers are the features; None if these are all, in the order of the model."""
        names = [self.header[place] for place in self._number_places]
        features = [names.index(column.name) for column in self.schema.columns if column.name in names]
        return None if features == list(range(len(names))) else features

    def _read_lines(self, max_lines: int) -> list[Line]:
        lines, self._open_quote = self._open_quote + self._reader.read(max_lines), []
        return lines

    def _parse(self, lines: Sequence[Line]) -> tuple[Mapping[str, Sequence[Any]], list[Line], list[RejectedRecord]]:
        rejected: list[RejectedRecord] = []
        if any(b'"' in line.text for line in lines):
            lines = self._join_quoted(lines, rejected)
        kept, texts = _decode_lines(lines, rejected)
        try:
            rows = list(csv.reader(texts, delimiter=self.delimiter))
        except csv.Error:
            rows = []
        if len(rows) != len(texts):  # a malformed line, or csv pairs the quotes otherwise than `_join_quoted`
            kept, rows = self._parse_each(kept, texts, rejected)
        width = len(self.header)
        if any(len(row) != width for row in rows):
            rejected.extend(
                reject_line(line, f"the line has {len(row)} fields, the header {width}")
                for line, row in zip(kept, rows, strict=True)
                if len(row) != width
            )
            kept = [line for line, row in zip(kept, rows, strict=True) if len(row) == width]
            rows = [row for row in rows if len(row) == width]
        columns = zip(*rows, strict=True) if rows else ((),) * width
        return dict(zip(self.header, columns, strict=True)), kept, rejected

    def _parse_each(
        self, lines: Sequence[Line], texts: Sequence[str], rejected: list[RejectedRecord]
    ) -> tuple[list[Line], list[list[str]]]:
        """Return the lines that are one record each, and their cells."""
        kept, rows = [], []
        for line, text in zip(lines, texts, strict=True):
            try:
                (row,) = csv.reader([text], delimiter=self.delimiter)
            except (csv.Error, ValueError) as error:
                rejected.append(reject_line(line, f"the line is not CSV: {_explain_csv(error)}"))
                continue
            kept.append(line)
            rows.append(row)
        return kept, rows

    def _join_quoted(self, lines: Sequence[Line], rejected: list[RejectedRecord]) -> list[Line]:
        """Return records instead of lines, where a quoted cell spans several lines."""
        records: list[Line] = []
        at = 0
        while at < len(lines):
            line = lines[at]
            text, last = line.text, at
            while text.count(b'"') % 2 and last + 1 < len(lines) and last - at < _MAX_QUOTED_LINES:
                last += 1
                text += b"\n" + lines[last].text
            if text.count(b'"') % 2 == 0:
                records.append(Line(line.offset, line.number, text))
                at = last + 1
            elif last + 1 >= len(lines) and last - at < _MAX_QUOTED_LINES and not self._reader.ended:
                self._open_quote = list(lines[at:])  # the closing quote may be in the lines of the next poll
                break
            else:
                rejected.append(reject_line(line, "a quote is not closed"))
                at += 1
        return records


def read_csv_chunks(
    path: str | os.PathLike[str] | LineReader, *, delimiter: str | None = None, max_records: int = _CHUNK_RECORDS
) -> Iterator[tuple[dict[str, list[str]], list[int]]]:
    """Yield the columns of a CSV file as text, in parts, with the line number of each record.

    Parameters
    ----------
    path, delimiter
        See `CsvSource`.
    max_records : int
        Maximum number of records in a part.

    Raises
    ------
    SchemaError
        At the first line that is malformed.
    """
    source = CsvSource(path, Schema(()), delimiter=delimiter)
    if not source.header:
        raise SchemaError(f"{source.name}: the file is empty; its first line must name the columns")
    yield {name: [] for name in source.header}, []  # the names, also of a file without records
    yield from read_chunks(source, max_records)


def read_csv_columns(
    path: str | os.PathLike[str], *, delimiter: str | None = None, max_records: int | None = None
) -> dict[str, list[str]]:
    """Return the columns of a whole CSV file, or of its first records, as text.

    Parameters
    ----------
    path : path
        A file with a header.
    delimiter : str, optional
        See `CsvSource`.
    max_records : int, optional
        Maximum number of records to read.
    """
    columns: dict[str, list[str]] = {}
    for part, lines in read_csv_chunks(path, delimiter=delimiter, max_records=max_records or _CHUNK_RECORDS):
        for name, cells in part.items():
            columns.setdefault(name, []).extend(cells)
        if max_records is not None and lines:
            break
    return columns


def _find_places(header: Sequence[str], names: Sequence[str]) -> NDArray[np.int32]:
    """Return the places of columns in a header."""
    wanted = set(names)
    return np.array([place for place, name in enumerate(header) if name in wanted], dtype=np.int32)


@contextmanager
def _explain_encoding(path: Any) -> Iterator[None]:
    try:
        yield
    except csv.Error as error:
        raise SchemaError(f"{path}: the file is not CSV: {_explain_csv(error)}; correct the file") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise SchemaError(f"{path}: the file is not UTF-8 (byte 0x{byte:02x}); convert it, such as by iconv") from None


def _read_header(reader: LineReader, delimiter: str | None) -> tuple[list[str], str]:
    """Return the names of the columns, and the delimiter; no names if the input is empty."""
    while not reader.done:
        for line in reader.read(1):
            if line.text.strip(SPACE):
                with _explain_encoding(reader.name):
                    text = line.text.decode("utf-8-sig")
                    if line.too_long or "\0" in text:
                        raise SchemaError(
                            f"{reader.name}: the first line is not text; give CSV, whose first line names the columns"
                        )
                    used = delimiter or _guess_delimiter(text)
                    return _check_header(next(csv.reader([text], delimiter=used)), reader.name), used
        reader.wait(0.1)
    return [], delimiter or ","


def _check_header(header: list[str], path: Any) -> list[str]:
    names = [name.strip() for name in header]
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SchemaError(f"{path}: the header has {shorten(name)!r} twice; use different names for the columns")
        seen.add(name)
    return names


def _explain_csv(error: Exception) -> str:
    """Return what is wrong with a line of CSV."""
    if "field larger than" in str(error):
        return f"a field is longer than {csv.field_size_limit()} characters"
    return "it has a carriage return or a line end outside quotes"


def _guess_delimiter(line: str) -> str:
    return max(_DELIMITERS, key=line.count)


def _decode_lines(lines: Sequence[Line], rejected: list[RejectedRecord]) -> tuple[list[Line], list[str]]:
    kept, texts = [], []
    for line in lines:
        try:
            texts.append(line.text.decode())
        except UnicodeDecodeError:
            rejected.append(reject_line(line, "the line is not UTF-8"))
            continue
        kept.append(line)
    return kept, texts
