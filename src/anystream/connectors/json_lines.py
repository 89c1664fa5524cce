"""JSON lines as a source: one object per line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.connectors.lines import MAX_LINE_BYTES, Line, LineBlock, LineReader
from anystream.connectors.schema import Schema, SchemaError
from anystream.connectors.text_source import TextSource, read_chunks, reject_line
from anystream.runtime.records import RejectedRecord, shorten

_CHUNK_RECORDS = 8192  # records of a table read at a time
_MAX_ABSENT = 100  # records without a required column after which it is an error

# a string, a whole number, or nothing; see native TextKind
_PLAIN_TEXTS: tuple[Callable[[bytes], Any], ...] = (bytes.decode, int, lambda text: None)
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # one value from a position on, faster than loads


class JsonLinesSource(TextSource):
    """Records from a file of JSON objects, one per line, or from standard input.

    A feature that an object lacks counts as missing; members that are not in the schema are ignored. An object with no
    member of the schema's columns is malformed. A schema without any columns stands for all members.

    Parameters
    ----------
    path, schema, max_line_bytes, rename
        See `TextSource`.

    Attributes
    ----------
    absent : dict of str to int
        Columns of the schema that no object had so far, with the number of objects.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | LineReader,
        schema: Schema,
        *,
        max_line_bytes: int = MAX_LINE_BYTES,
        rename: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(path, schema, max_line_bytes=max_line_bytes, rename=rename)
        self._inputs = [column.name for column in schema.columns]
        self.absent: dict[str, int] = dict.fromkeys(schema.used_names, 0)
        self._may_be_plain = bool(self._inputs) and not (schema.has_categories or schema.keep or self._rename)
        self._number_names, self._text_names = schema.number_names, schema.text_names

    def _reads_plain_lines(self) -> bool:
        return self._may_be_plain

    def _read_plain_lines(self, block: LineBlock) -> tuple[NDArray[np.float64], Mapping[str, Sequence[Any]]]:
        n, n_texts = len(block), len(self._text_names)
        numbers = np.empty((n, len(self._number_names)))
        starts, ends = np.empty((2, n, n_texts), dtype=np.int64)
        kinds = np.empty((n, n_texts), dtype=np.uint8)
        n_plain, found = _native.read_json_lines(
            block.text,
            block.starts,
            block.ends,
            self._number_names,
            self._text_names,
            len(self._inputs),
            numbers,
            starts,
            ends,
            kinds,
        )
        numbers = numbers[:n_plain]
        columns: dict[str, Any] = {name: numbers[:, i] for i, name in enumerate(self._number_names) if name in found}
        for i, name in enumerate(self._text_names):
            if name not in found and name != self.schema.key:  # nothing to convert; a key is null, not left out
                continue
            bounds = zip(*(part[:n_plain, i].tolist() for part in (starts, ends, kinds)), strict=True)
            columns[name] = [_PLAIN_TEXTS[kind](block.text[start:end]) for start, end, kind in bounds]
        if n_plain and self.absent:
            if any(name in self.absent and name not in found for name in self.schema.required):
                return numbers[:0], {}  # the parser of single lines counts them, and raises at the end
            self._note_absent(found, n_plain)
        return numbers[:, : len(self._inputs)], columns

    def _parse(self, lines: Sequence[Line]) -> tuple[Mapping[str, Sequence[Any]], list[Line], list[RejectedRecord]]:
        kept: list[Line] = []
        objects: list[dict[str, Any]] = []
        rejected: list[RejectedRecord] = []
        for line in lines:
            try:
                objects.append(parse_object(line.text))
            except ValueError as error:
                rejected.append(reject_line(line, str(error)))
            else:
                kept.append(line)
        for old, new in self._rename.items():
            for found in objects:
                if old in found and new not in found:
                    found[new] = found[old]
        names = self.schema.used_names or list(dict.fromkeys(name for found in objects for name in found))
        objects, kept = self._check_members(objects, kept, rejected)
        return to_columns(objects, names), kept, rejected

    def _check_members(
        self, objects: list[dict[str, Any]], lines: list[Line], rejected: list[RejectedRecord]
    ) -> tuple[list[dict[str, Any]], list[Line]]:
        """Return the objects that have at least one input of the model; count the columns that none had so far."""
        inputs = set(self._inputs)
        if inputs and any(inputs.isdisjoint(found) for found in objects):
            reason = f"the record has no column of the model, which are {shorten(', '.join(self._inputs))}"
            valid = [not inputs.isdisjoint(found) for found in objects]
            rejected += [reject_line(line, reason) for line, ok in zip(lines, valid, strict=True) if not ok]
            objects = [found for found, ok in zip(objects, valid, strict=True) if ok]
            lines = [line for line, ok in zip(lines, valid, strict=True) if ok]
        if self.absent and objects:
            self._note_absent(dict.fromkeys(name for found in objects for name in found), len(objects))
        return objects, lines

    def _note_absent(self, found: Collection[str], n_objects: int) -> None:
        """Count the columns that none of these objects has, either; raise SchemaError if a required one is missing."""
        self.absent = {name: n + n_objects for name, n in self.absent.items() if name not in found}
        absent = [name for name in (*self.schema.required, *self.schema.keep) if name in self.absent]
        if absent and (self.absent[absent[0]] >= _MAX_ABSENT or self.done):
            raise SchemaError(
                f"{self.name}: there is no column {absent[0]!r} in the first {self.absent[absent[0]]} records; they "
                f"have {shorten(', '.join(found))}"
            )


def read_json_chunks(
    path: str | os.PathLike[str] | LineReader, *, max_records: int = _CHUNK_RECORDS
) -> Iterator[tuple[dict[str, list[Any]], list[int]]]:
    """Yield the members of a file of JSON lines by name, in parts, with the line number of each record.

    Raises
    ------
    SchemaError
        At the first line that is malformed.
    """
    yield from read_chunks(JsonLinesSource(path, Schema(())), max_records)


def read_json_columns(path: str | os.PathLike[str], *, max_records: int | None = None) -> dict[str, list[Any]]:
    """Return the columns of a file of JSON lines, or of its first records; None where an object lacks a member."""
    columns: dict[str, list[Any]] = {}
    n = 0
    for part, lines in read_json_chunks(path, max_records=max_records or _CHUNK_RECORDS):
        for name in dict.fromkeys([*columns, *part]):
            columns.setdefault(name, [None] * n).extend(part.get(name, [None] * len(lines)))
        n += len(lines)
        if max_records is not None:
            break
    return columns


def to_columns(objects: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return members by name; None where an object lacks one."""
    try:  # the usual case: every object has every member
        return {name: list(map(itemgetter(name), objects)) for name in names}
    except KeyError:
        return {name: [found.get(name) for found in objects] for name in names}


def parse_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; ValueError with the reason if it is malformed."""
    try:
        text = line.decode().strip()
    except UnicodeDecodeError:
        raise ValueError("the line is not UTF-8") from None
    try:
        value, end = _scan(text, 0)
    except (StopIteration, json.JSONDecodeError):
        raise ValueError("the line is not JSON") from None
    except RecursionError:
        raise ValueError("the line is nested too deeply") from None
    except ValueError:
        raise ValueError("the line has a number of too many digits") from None
    if end != len(text):
        raise ValueError("the line has text after its JSON value; put one record on each line")
    if not isinstance(value, dict):
        raise ValueError(
            f"the line is a JSON {type(value).__name__}; a record is an object with the columns as members"
        )
    return value
