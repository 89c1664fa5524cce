"""What CSV and JSON lines have in common: lines of text that become items, or dead letters."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anystream.connectors.items import Items, Reject
from anystream.connectors.lines import Line, LineReader
from anystream.connectors.protocols import Polled
from anystream.connectors.schema import Schema

_SHOWN = 500  # characters of a bad record that the dead letters keep


class TextSource(ABC):
    """Records from the lines of a file or of standard input; the offset of a record is its byte.

    Parameters
    ----------
    path : path, "-" or LineReader
        A file, standard input, or lines that somebody else has begun to look at.
    schema : Schema
        What the columns mean.
    longest : int, default=1_000_000
        Most bytes of a line.

    Notes
    -----
    A file can be read again from any offset. Standard input cannot go back, but a new process can skip to an offset
    if it is given the same bytes again. Acknowledging does nothing: files do not forget.
    """

    def __init__(self, path: str | os.PathLike[str] | LineReader, schema: Schema, *, longest: int = 1_000_000) -> None:
        self.schema = schema
        self._reader = path if isinstance(path, LineReader) else LineReader(path, longest=longest)
        self._longest = longest

    @property
    def offset(self) -> int:
        """Where the next record begins."""
        return self._reader.offset

    @property
    def done(self) -> bool:
        """Every line was read."""
        return self._reader.done

    def poll(self, most: int) -> Polled:
        """The next records that are there already."""
        lines = [line for line in self._read_lines(most) if line.text.strip() or line.overlong]
        rejects = [
            Reject(f"the line is longer than {self._longest} bytes", line.offset, line.number, None, _shown(line.text))
            for line in lines
            if line.overlong
        ]
        sound = [line for line in lines if not line.overlong] if rejects else lines
        if not sound:
            return Polled(Items.none(self.schema.n_features), rejects)
        items, more = self._items(sound)
        return Polled(items, sorted([*rejects, *more], key=lambda reject: reject.offset))

    def wait(self, seconds: float) -> None:
        """Return when more may be ready."""
        self._reader.wait(seconds)

    def seek(self, offset: int) -> None:
        """Go on from byte `offset`."""
        self._reader.seek(offset)

    def acknowledge(self, offset: int) -> None:  # noqa: B027  nothing to do is what all of them do
        """A file forgets nothing."""

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def _read_lines(self, most: int) -> list[Line]:
        return self._reader.read(most)

    @abstractmethod
    def _cells(self, lines: Sequence[Line]) -> tuple[Mapping[str, Sequence[Any]], list[Line], list[Reject]]:
        """The cells of the lines by column, the lines they are from, and the lines that are no records."""

    def _items(self, lines: Sequence[Line]) -> tuple[Items, list[Reject]]:
        table, kept, rejects = self._cells(lines)
        n, schema = len(kept), self.schema
        features, faults = schema.encode(table, n)
        label = (
            schema.labels(table[schema.label], faults) if schema.label is not None and schema.label in table else None
        )
        arrival = schema.times(table[schema.time], faults) if schema.time is not None and schema.time in table else None
        offset = np.array([line.offset for line in kept], dtype=np.int64)
        named = schema.key is not None and schema.key in table
        key = _keys(table[str(schema.key)]) if named else np.array([line.number for line in kept])
        items = Items.of(features, key=key, offset=offset, arrival=arrival, label=label)
        if faults:
            rejects = rejects + [
                Reject(reason, kept[row].offset, kept[row].number, key[row], _shown(kept[row].text))
                for row, reason in sorted(faults.items())
            ]
            sound = np.ones(n, dtype=np.bool_)
            sound[list(faults)] = False
            items = items.take(sound)
        return items, rejects


def _keys(cells: Sequence[Any]) -> np.ndarray:
    keys = np.empty(len(cells), dtype=object)
    keys[:] = cells
    return keys


def _shown(text: bytes) -> str:
    return text[:_SHOWN].decode("utf-8", "replace")
