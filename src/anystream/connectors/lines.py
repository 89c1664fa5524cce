"""Lines of a file or a pipe, with their places, without ever waiting for more."""

from __future__ import annotations

import os
import select
import stat
import sys
from itertools import accumulate, count
from pathlib import Path
from typing import NamedTuple

_CHUNK = 2**18  # bytes read at a time
_SPACE = b" \t\r\n\xef\xbb\xbf"  # and the mark of UTF-8
_KEPT = 200  # bytes of an over-long line that are kept for the dead letters


class Line(NamedTuple):
    """One line, without its end.

    Parameters
    ----------
    offset : int
        Where it begins, in bytes.
    number : int
        From 1.
    text : bytes
        What it says; only the beginning if it is over-long.
    overlong : bool
        Whether it is longer than allowed.
    """

    offset: int
    number: int
    text: bytes
    overlong: bool = False


class LineReader:
    """Complete lines as they become available.

    Parameters
    ----------
    path : path or "-"
        A file, or standard input.
    longest : int, default=1_000_000
        Most bytes of a line; the rest of a longer one is skipped without being held in memory.
    """

    def __init__(self, path: str | os.PathLike[str], *, longest: int = 1_000_000) -> None:
        self.name = "standard input" if path == "-" else str(path)
        self._descriptor = sys.stdin.fileno() if path == "-" else os.open(Path(path), os.O_RDONLY)
        self._owned = path != "-"
        self._regular = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
        self._longest = longest
        self._ended = False
        self._lines: list[Line] = []  # complete ones, in order
        self._next = 0  # the first of them that was not read
        self._tail = b""  # the beginning of a line whose end has not come
        self._tail_at = 0
        self._number = 1
        self._skipping = False  # the tail is over-long: only its beginning is held

    @property
    def offset(self) -> int:
        """Where the next line begins."""
        return self._lines[self._next].offset if self._next < len(self._lines) else self._tail_at

    @property
    def done(self) -> bool:
        """The end was reached and every line read."""
        if self._next >= len(self._lines) and not self._ended and self._regular:
            self._fill()
        return self._ended and self._next >= len(self._lines)

    @property
    def ended(self) -> bool:
        """The end was reached; lines may still wait to be read."""
        return self._ended

    def read(self, most: int) -> list[Line]:
        """At most `most` lines that are there already."""
        while len(self._lines) - self._next < most and not self._ended:
            if not self._fill():
                break
        lines = self._lines[self._next : self._next + most]
        self._next += len(lines)
        return lines

    def first_byte(self) -> bytes:
        """The first byte that is no space, which stays where it is; waits for it. Nothing if there is none."""
        while True:
            seen = b"\n".join([*(line.text for line in self._lines), self._tail]).lstrip(_SPACE)
            if seen or self._ended:
                return seen[:1]
            self.wait(1.0)
            self._fill()

    def wait(self, seconds: float) -> None:
        """Return when there is more to read, and after `seconds` at the latest."""
        if not self._ended and not self._regular:
            select.select([self._descriptor], [], [], seconds)

    def seek(self, offset: int) -> None:
        """Go on from a line that begins at `offset`; on a pipe, skip what lies before it."""
        if not self._regular:
            return self._skip_to(offset)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        self._lines, self._next, self._tail, self._held, self._skipping = [], 0, b"", 0, False
        self._number, self._tail_at, self._ended = 1, offset, False
        while offset > 0:
            chunk = os.read(self._descriptor, min(offset, _CHUNK))
            if not chunk:
                raise ValueError(f"the file ends before offset {self._tail_at}; it is not the one of before")
            self._number += chunk.count(b"\n")
            offset -= len(chunk)
        return None

    def _skip_to(self, offset: int) -> None:
        if self.offset > offset:
            raise ValueError(f"a pipe cannot go back from byte {self.offset} to {offset}; give it from the start")
        while self.offset < offset:
            if not self.read(1):
                if self._ended:
                    raise ValueError(f"the input ends before offset {offset}; it is not the one of before")
                self.wait(1.0)

    def close(self) -> None:
        """Close the file."""
        if self._owned:
            os.close(self._descriptor)
            self._owned = False

    def _fill(self) -> bool:
        """Read one chunk if there is one; False if there is nothing at the moment."""
        if not self._regular and not select.select([self._descriptor], [], [], 0)[0]:
            return False
        chunk = os.read(self._descriptor, _CHUNK)
        if self._next:
            del self._lines[: self._next]
            self._next = 0
        if not chunk:
            self._ended = True
            if self._tail:
                self._end_line(self._tail, len(self._tail))
            self._tail = b""
            return True
        self._cut(chunk)
        return True

    def _cut(self, chunk: bytes) -> None:
        pieces = chunk.split(b"\n")
        last = pieces.pop()
        for at, piece in enumerate(pieces):
            if at == 1 and max(map(len, pieces)) <= self._longest:
                self._add_plain(pieces[1:])
                break
            if self._tail or self._skipping:
                self._end_line(self._tail + piece, self._held + len(piece) + 1)
            else:
                self._end_line(piece, len(piece) + 1)
            self._tail, self._held, self._skipping = b"", 0, False
        self._held += len(last)
        self._tail += last if not self._skipping else b""
        if len(self._tail) > self._longest:
            self._tail, self._skipping = self._tail[:_KEPT], True

    def _add_plain(self, pieces: list[bytes]) -> None:
        """Whole lines of a decent length, all at once."""
        ends = list(accumulate([len(piece) + 1 for piece in pieces], initial=self._tail_at))
        self._tail_at = ends.pop()
        if any(piece.endswith(b"\r") for piece in pieces):
            pieces = [piece.removesuffix(b"\r") for piece in pieces]
        self._lines.extend(map(Line, ends, count(self._number), pieces))
        self._number += len(pieces)

    _held = 0  # bytes of the unfinished line, also those that were let go

    def _end_line(self, text: bytes, length: int) -> None:
        overlong = self._skipping or len(text) > self._longest
        if overlong:
            text = text[:_KEPT]
        elif text.endswith(b"\r"):
            text = text[:-1]
        self._lines.append(Line(self._tail_at, self._number, text, overlong))
        self._tail_at += length
        self._number += 1
