"""Records from CSV."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.items import Reject
from anystream.connectors.lines import Line, LineReader
from anystream.connectors.schema import EXACT, Schema, SchemaError
from anystream.connectors.text_source import TextSource, _shown

_DELIMITERS = ",;\t|"
_MOST_LINES = 100  # that a quoted record may span
_MOST_SKIPPED = 64  # polls, before plain numbers are tried again


class CsvSource(TextSource):
    """Records from a CSV file or standard input; the first line names the columns.

    Parameters
    ----------
    path : path, "-" or LineReader
        A file, standard input, or lines that somebody else has begun to look at.
    schema : Schema
        What the columns mean.
    delimiter : str, optional
        What stands between cells; by default whichever of ``, ; | tab`` the first line has most of.
    longest : int, default=1_000_000
        Most bytes of a line.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | LineReader,
        schema: Schema,
        *,
        delimiter: str | None = None,
        longest: int = 1_000_000,
    ) -> None:
        super().__init__(path, schema, longest=longest)
        self._open_quote: list[Line] = []  # lines of a record whose end has not come
        name = self._reader.name
        self.header, self.delimiter = _read_header(self._reader, name, delimiter)
        names = [column.name for column in schema.columns]
        if absent := [name for name in names if name not in self.header]:
            raise SchemaError(
                f"{name}: there is no column {absent[0]!r}, which the model was fitted on; the table has "
                f"{', '.join(self.header)}"
            )
        self._wanted = [place for place, name in enumerate(self.header) if name in (*names, schema.label, schema.time)]
        self._numeric = schema.numbers_only and schema.key not in self.header
        self._slow_polls = self._to_skip = 0

    @property
    def offset(self) -> int:
        """Where the next record begins."""
        return self._open_quote[0].offset if self._open_quote else self._reader.offset

    @property
    def done(self) -> bool:
        """Every record was read."""
        return not self._open_quote and self._reader.done

    def seek(self, offset: int) -> None:
        """Go on from byte `offset`."""
        self._open_quote = []
        super().seek(offset)

    def _read_lines(self, most: int) -> list[Line]:
        lines, self._open_quote = self._open_quote + self._reader.read(most), []
        return lines

    def _cells(self, lines: Sequence[Line]) -> tuple[Mapping[str, Sequence[Any]], list[Line], list[Reject]]:
        numbers = self._numbers(lines) if self._numeric else None
        if numbers is not None:
            return dict(zip((self.header[place] for place in self._wanted), numbers.T, strict=True)), list(lines), []
        rejects: list[Reject] = []
        if any(b'"' in line.text for line in lines):
            lines = self._joined(lines, rejects)
        kept, texts = _decoded(lines, rejects)
        rows = list(csv.reader(texts, delimiter=self.delimiter))
        if len(rows) != len(texts):  # the reader sees quotes differently than we do: look at each record alone
            rows = [next(csv.reader([text], delimiter=self.delimiter)) for text in texts]
        width = len(self.header)
        if any(len(row) != width for row in rows):
            rejects.extend(
                Reject(
                    f"the line has {len(row)} fields, the header {width}",
                    line.offset,
                    line.number,
                    None,
                    _shown(line.text),
                )
                for line, row in zip(kept, rows, strict=True)
                if len(row) != width
            )
            kept = [line for line, row in zip(kept, rows, strict=True) if len(row) == width]
            rows = [row for row in rows if len(row) == width]
        columns = zip(*rows, strict=True) if rows else ((),) * width
        return dict(zip(self.header, columns, strict=True)), kept, rejects

    def _numbers(self, lines: Sequence[Line]) -> NDArray[np.float64] | None:
        """The columns that matter, if all of their cells are plain numbers: five times as quick as cell by cell.

        Otherwise None; after that some polls go by before it is tried again, more each time.
        """
        if self._to_skip:
            self._to_skip -= 1
            return None
        texts = [line.text for line in lines]
        separator, separators = self.delimiter.encode(), len(self.header) - 1
        if all(text.count(separator) == separators for text in texts):
            try:
                table = np.loadtxt(texts, delimiter=self.delimiter, comments=None, usecols=self._wanted, ndmin=2)
            except ValueError:
                pass
            else:
                self._slow_polls = 0
                return table if np.all(~(np.abs(table) >= EXACT)) else None  # such labels would not be exact
        self._slow_polls = self._to_skip = min(2 * self._slow_polls + 1, _MOST_SKIPPED)
        return None

    def _joined(self, lines: Sequence[Line], rejects: list[Reject]) -> list[Line]:
        """Records instead of lines, where a quoted cell spans several."""
        records: list[Line] = []
        at = 0
        while at < len(lines):
            line = lines[at]
            text, last = line.text, at
            while text.count(b'"') % 2 and last + 1 < len(lines) and last - at < _MOST_LINES:
                last += 1
                text += b"\n" + lines[last].text
            if text.count(b'"') % 2 == 0:
                records.append(Line(line.offset, line.number, text))
                at = last + 1
            elif last + 1 >= len(lines) and last - at < _MOST_LINES and not self._reader.ended:
                self._open_quote = list(lines[at:])  # its end may be among the lines to come
                break
            else:
                rejects.append(Reject("a quote is not closed", line.offset, line.number, None, _shown(line.text)))
                at += 1
        return records


def read_csv_columns(
    path: str | os.PathLike[str], *, delimiter: str | None = None, most: int | None = None
) -> dict[str, list[str]]:
    """The columns of a whole CSV file, or of its first records, as text.

    Parameters
    ----------
    path : path
        A file with a header.
    delimiter : str, optional
        See `CsvSource`.
    most : int, optional
        How many records to read.
    """
    with open(Path(path), encoding="utf-8-sig", newline="") as file, _utf8(path):
        first = file.readline()
        if not first.strip():
            raise SchemaError(f"{path}: the file has no header; its first line must name the columns")
        used = delimiter or _guess_delimiter(first)
        header = _checked_header(next(csv.reader([first], delimiter=used)), path)
        rows: list[list[str]] = []
        for row in islice(csv.reader(file, delimiter=used), most):
            if not row:
                continue
            if len(row) != len(header):
                raise SchemaError(
                    f"{path}: record {len(rows) + 1} has {len(row)} fields, the header {len(header)}; correct the file"
                )
            rows.append(row)
    columns = zip(*rows, strict=True) if rows else ((),) * len(header)
    return {name: list(cells) for name, cells in zip(header, columns, strict=True)}


@contextmanager
def _utf8(path: Any) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise SchemaError(f"{path}: the file is not UTF-8 (byte 0x{byte:02x}); convert it, such as by iconv") from None


def _read_header(reader: LineReader, path: Any, delimiter: str | None) -> tuple[list[str], str]:
    while not reader.done:
        for line in reader.read(1):
            text = line.text.decode("utf-8-sig", "replace")
            if text.strip():
                used = delimiter or _guess_delimiter(text)
                return _checked_header(next(csv.reader([text], delimiter=used)), path), used
        reader.wait(0.1)
    raise SchemaError(f"{path}: the input is empty; its first line must name the columns")


def _checked_header(header: list[str], path: Any) -> list[str]:
    names = [name.strip() for name in header]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SchemaError(f"{path}: the header has {twice!r} twice; give each column a name of its own")
    return names


def _guess_delimiter(line: str) -> str:
    return max(_DELIMITERS, key=line.count)


def _decoded(lines: Sequence[Line], rejects: list[Reject]) -> tuple[list[Line], list[str]]:
    kept, texts = [], []
    for line in lines:
        try:
            texts.append(line.text.decode())
        except UnicodeDecodeError:
            rejects.append(Reject("the line is not UTF-8", line.offset, line.number, None, _shown(line.text)))
            continue
        kept.append(line)
    return kept, texts
