"""JSON lines as a source: one object per line."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from anystream.connectors.lines import Line
from anystream.connectors.schema import SchemaError
from anystream.connectors.text_source import TextSource, reject_line
from anystream.runtime.records import RejectedRecord

_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # one value from a position on, faster than loads


class JsonLinesSource(TextSource):
    """Records from a file of JSON objects, one per line, or from standard input.

    A feature that an object lacks counts as missing; members that are not in the schema are ignored.
    """

    def _parse(self, lines: Sequence[Line]) -> tuple[Mapping[str, Sequence[Any]], list[Line], list[RejectedRecord]]:
        kept: list[Line] = []
        objects: list[dict[str, Any]] = []
        rejected: list[RejectedRecord] = []
        for line in lines:
            try:
                objects.append(_parse_object(line.text))
            except ValueError as error:
                rejected.append(reject_line(line, str(error)))
            else:
                kept.append(line)
        schema = self.schema
        names = [column.name for column in schema.columns]
        names += [name for name in (schema.label, schema.key, schema.time) if name is not None]
        return _to_columns(objects, names), kept, rejected


def read_json_columns(path: str | os.PathLike[str], *, max_records: int | None = None) -> dict[str, list[Any]]:
    """Return the columns of a file of JSON lines, or of its first records; None where an object lacks a member."""
    objects: list[dict[str, Any]] = []
    with open(Path(path), "rb") as file:
        for number, line in enumerate(file, 1):
            if max_records is not None and len(objects) >= max_records:
                break
            if line.strip():
                try:
                    objects.append(_parse_object(line))
                except ValueError as error:
                    raise SchemaError(f"{path}: line {number}: {error}; correct the file") from None
    names = list(dict.fromkeys(name for found in objects for name in found))
    return _to_columns(objects, names)


def _to_columns(objects: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return members by name; None where an object lacks one."""
    try:  # the usual case: every object has every member
        return {name: list(map(itemgetter(name), objects)) for name in names}
    except KeyError:
        return {name: [found.get(name) for found in objects] for name in names}


def _parse_object(line: bytes) -> dict[str, Any]:
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
