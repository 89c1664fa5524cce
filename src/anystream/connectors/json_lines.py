"""Records from JSON lines: one object per line."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from anystream.connectors.items import Reject
from anystream.connectors.lines import Line
from anystream.connectors.schema import SchemaError
from anystream.connectors.text_source import TextSource, _shown

_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # one value from a place on, without the ceremony of loads


class JsonLinesSource(TextSource):
    """Records from a file of JSON objects, one per line, or from standard input.

    A feature that an object lacks counts as missing; members that the schema does not know are passed over.
    """

    def _cells(self, lines: Sequence[Line]) -> tuple[Mapping[str, Sequence[Any]], list[Line], list[Reject]]:
        kept: list[Line] = []
        objects: list[dict[str, Any]] = []
        rejects: list[Reject] = []
        for line in lines:
            try:
                objects.append(_object(line.text))
            except ValueError as error:
                rejects.append(Reject(str(error), line.offset, line.number, None, _shown(line.text)))
            else:
                kept.append(line)
        schema = self.schema
        names = [column.name for column in schema.columns]
        names += [name for name in (schema.label, schema.key, schema.time) if name is not None]
        return _columns(objects, names), kept, rejects


def read_json_columns(path: str | os.PathLike[str], *, most: int | None = None) -> dict[str, list[Any]]:
    """The columns of a whole file of JSON lines, or of its first records; None where an object lacks a member."""
    objects: list[dict[str, Any]] = []
    with open(Path(path), "rb") as file:
        for number, line in enumerate(file, 1):
            if most is not None and len(objects) >= most:
                break
            if line.strip():
                try:
                    objects.append(_object(line))
                except ValueError as error:
                    raise SchemaError(f"{path}: line {number}: {error}; correct the file") from None
    names = list(dict.fromkeys(name for found in objects for name in found))
    return _columns(objects, names)


def _columns(objects: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Members by name; None where an object lacks one."""
    try:  # the usual case: all have all
        return {name: list(map(itemgetter(name), objects)) for name in names}
    except KeyError:
        return {name: [found.get(name) for found in objects] for name in names}


def _object(line: bytes) -> dict[str, Any]:
    try:
        text = line.decode().strip()
    except UnicodeDecodeError:
        raise ValueError("the line is not UTF-8") from None
    try:
        value, end = _scan(text, 0)
    except (StopIteration, json.JSONDecodeError, RecursionError):
        raise ValueError("the line is no JSON") from None
    if end != len(text):
        raise ValueError("the line has more behind its JSON value; put one record on each line")
    if not isinstance(value, dict):
        raise ValueError(
            f"the line is a JSON {type(value).__name__}; a record is an object with the columns as members"
        )
    return value
