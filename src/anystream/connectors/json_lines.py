"""JSON lines as a source: one object per line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from anystream.connectors.lines import MAX_LINE_BYTES, Line, LineReader
from anystream.connectors.schema import Schema, SchemaError
from anystream.connectors.text_source import TextSource, read_chunks, reject_line
from anystream.runtime.records import RejectedRecord, shorten

_CHUNK_RECORDS = 8192  # records of a table read at a time
_MAX_ABSENT = 100  # records without a required column after which it is an error

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
        if self.absent:
            objects, kept = self._check_members(objects, kept, rejected)
        return to_columns(objects, names), kept, rejected

    def _check_members(
        self, objects: list[dict[str, Any]], lines: list[Line], rejected: list[RejectedRecord]
    ) -> tuple[list[dict[str, Any]], list[Line]]:
        """Count the columns that never occurred; return the objects that have at least one input of the model."""
        if all(found.keys() >= self.absent.keys() for found in objects[:1]) and objects:
            self.absent = {}
            return objects, lines
        inputs = set(self._inputs)
        valid = [not inputs or not inputs.isdisjoint(found) for found in objects]
        rejected += [
            reject_line(line, f"the record has no column of the model, which are {shorten(', '.join(self._inputs))}")
            for line, is_valid in zip(lines, valid, strict=True)
            if not is_valid
        ]
        kept = [found for found, is_valid in zip(objects, valid, strict=True) if is_valid]
        self.absent = {
            name: n + len(kept) for name, n in self.absent.items() if not any(name in found for found in kept)
        }
        absent = [name for name in (*self.schema.required, *self.schema.keep) if name in self.absent]
        if absent and kept and (self.absent[absent[0]] >= _MAX_ABSENT or self.done):
            raise SchemaError(
                f"{self.name}: there is no column {absent[0]!r} in the first {self.absent[absent[0]]} records; they "
                f"have {shorten(', '.join(kept[0]))}"
            )
        return kept, [line for line, is_valid in zip(lines, valid, strict=True) if is_valid]


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
