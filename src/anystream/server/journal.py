"""Journal of labelled records: on disk before they are acknowledged, read again after any end.

A folder holds segments, each named after the number of its first record::

    journal-<n>.log    entries, one after the other: length, checksum, labels and features of some records

A checkpoint begins a new segment; segments that no kept checkpoint needs are removed.
"""

from __future__ import annotations

import itertools
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np

from anystream.model_file.replace_file import sync_folder
from anystream.runtime.packed_records import to_plain
from anystream.runtime.records import Records

_NAME = re.compile(r"journal-([0-9]{1,18})\.log")
_HEAD_BYTES = 8  # length and checksum of the rest


class JournalError(ValueError):
    """A journal that is damaged, other than by an unfinished entry at its end."""


class _Entry(msgspec.Struct, array_like=True):
    first: int  # number of the first record
    n_features: int
    features: bytes
    labels: list[Any]


_decoder = msgspec.msgpack.Decoder(_Entry)


class Journal:
    """Labelled records in the order in which they were acknowledged.

    Opening it removes an entry at the end that was not written completely: it was never acknowledged.

    Parameters
    ----------
    folder : Path
        The folder; it must exist, and belong to one process.

    Attributes
    ----------
    position : int
        Number of records so far; the number of the next one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.position = 0
        self._file: BinaryIO | None = None
        segments = self._segments()
        if segments:
            first, path = segments[-1]
            self.position = first
            n_bytes = 0
            for entry, end in _read_entries(path, is_last=True):
                self.position, n_bytes = entry.first + len(entry.labels), end
            self._file = open(path, "r+b")  # noqa: SIM115  closed by `close`
            self._file.truncate(n_bytes)
            self._file.seek(n_bytes)

    def append(self, records: Records) -> None:
        """Write labelled records; on return they are on disk."""
        if self._file is None:
            self._begin_segment()
        assert self._file is not None
        content = msgspec.msgpack.encode(
            _Entry(
                self.position,
                records.features.shape[1],
                records.features.astype("<f8").tobytes(),
                [to_plain(label) for label in records.label.tolist()],
            )
        )
        at = self._file.tell()
        try:
            self._file.write(len(content).to_bytes(4, "little") + zlib.crc32(content).to_bytes(4, "little") + content)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            self._file.seek(at)  # what was written of it is overwritten by the next, or removed when it is opened
            raise
        self.position += len(records)

    def read_from(self, position: int) -> Iterator[Records]:
        """Yield the records from a position on."""
        segments = self._segments()
        if segments and segments[0][0] > position:
            raise JournalError(f"{self._folder}: the journal begins with record {segments[0][0]}, {position} is needed")
        for at, (_first, path) in enumerate(segments):
            if at + 1 < len(segments) and segments[at + 1][0] <= position:
                continue
            for entry, _ in _read_entries(path, is_last=at + 1 == len(segments)):
                skipped = max(position - entry.first, 0)
                if skipped < len(entry.labels):
                    features = np.frombuffer(entry.features, dtype="<f8").reshape(-1, entry.n_features)
                    numbers = np.arange(entry.first, entry.first + len(entry.labels))
                    records = Records.from_features(features, offset=numbers, label=entry.labels)
                    yield records.take(slice(skipped, None))

    def begin_segment(self) -> None:
        """Begin a new segment, unless the present one is empty."""
        if self._file is not None and self._file.tell() > 0:
            self.close()
            self._begin_segment()

    def remove_before(self, position: int) -> None:
        """Remove the segments whose records are all before a position."""
        segments = self._segments()
        for (_, path), (following, _) in itertools.pairwise(segments):
            if following <= position:
                path.unlink()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin_segment(self) -> None:
        self._file = open(self._folder / f"journal-{self.position}.log", "wb")  # noqa: SIM115  closed by `close`
        sync_folder(self._folder)

    def _segments(self) -> list[tuple[int, Path]]:
        """Return the number of the first record and the path of every segment, in order."""
        found = [(_NAME.fullmatch(name), name) for name in os.listdir(self._folder)]
        return sorted((int(match[1]), self._folder / name) for match, name in found if match is not None)


def _read_entries(path: Path, *, is_last: bool) -> Iterator[tuple[_Entry, int]]:
    """Yield entries and where they end; an unfinished one may be at the end of the last segment."""
    content = path.read_bytes()
    at = 0
    while at < len(content):
        start = at + _HEAD_BYTES
        end = start + int.from_bytes(content[at : at + 4], "little")
        body = content[start:end]
        intact = end <= len(content) and zlib.crc32(body) == int.from_bytes(content[at + 4 : start], "little")
        if not intact:
            if is_last and end >= len(content):
                return
            raise JournalError(f"{path}: the entry at byte {at} is damaged; restore the file, or remove it and lose it")
        try:
            entry = _decoder.decode(body)
            if entry.n_features * 8 * len(entry.labels) != len(entry.features):
                raise ValueError("the number of features is wrong")
        except (msgspec.MsgspecError, ValueError) as error:
            raise JournalError(f"{path}: the entry at byte {at} cannot be read ({error}); restore the file") from None
        yield entry, end
        at = end
