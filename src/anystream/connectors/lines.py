"""Lines of a file or a pipe with their positions, read without blocking."""

from __future__ import annotations

import os
import select
import stat
import sys
from itertools import accumulate, count
from pathlib import Path
from typing import Any, NamedTuple

from anystream.connectors.prefix_hash import PrefixHash

MAX_LINE_BYTES = 1_000_000
_CHUNK = 2**18  # bytes read at a time
_SPACE = b" \t\r\n\xef\xbb\xbf"  # white space, and the byte order mark of UTF-8
_SHOWN_BYTES = 200  # the beginning of a too long line that is kept for the dead letters


class Line(NamedTuple):
    """One line, without its end.

    Parameters
    ----------
    offset : int
        Where it begins, in bytes.
    number : int
        Line number, from 1.
    text : bytes
        Its content; only the beginning if it is too long.
    too_long : bool
        Whether it is longer than allowed.
    """

    offset: int
    number: int
    text: bytes
    too_long: bool = False


class LineReader:
    """Complete lines as they become available.

    Parameters
    ----------
    path : path or "-"
        A file, or standard input.
    max_line_bytes : int, default=1_000_000
        Maximum number of bytes in a line; the rest of a longer one is skipped without being held in memory.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self.name = "standard input" if path == "-" else str(path)
        self.max_line_bytes = max_line_bytes
        self._descriptor = sys.stdin.fileno() if path == "-" else os.open(Path(path), os.O_RDONLY)
        self._owned = path != "-"
        self._regular = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
        self._ended = False
        self._lines: list[Line] = []  # complete lines, in order
        self._next = 0  # index of the first of them that was not read
        self._tail = b""  # the beginning of a line whose end was not read yet
        self._tail_offset = 0
        self._tail_bytes = 0  # length of that line so far, also where only its beginning is held
        self._skipping = False  # whether the tail is too long, so that only its beginning is held
        self._number = 1
        self._prefix = PrefixHash(self.name)

    @property
    def offset(self) -> int:
        """Where the next line begins."""
        return self._lines[self._next].offset if self._next < len(self._lines) else self._tail_offset

    @property
    def done(self) -> bool:
        """Whether the end was reached and every line read."""
        return self._ended and self._next >= len(self._lines)

    @property
    def ended(self) -> bool:
        """Whether the end was reached; there may still be lines to read."""
        return self._ended

    def read(self, max_lines: int) -> list[Line]:
        """Return at most `max_lines` lines that are available already."""
        while len(self._lines) - self._next < max_lines and not self._ended:
            if not self._fill():
                break
        lines = self._lines[self._next : self._next + max_lines]
        self._next += len(lines)
        if self._regular and self._next >= len(self._lines) and not self._ended:
            self._fill()  # look ahead, so that `done` is true after the last line
        return lines

    def peek_first_byte(self) -> bytes:
        """Return the first byte that is not white space, without reading it; blocks until there is one or the end."""
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

    def fingerprint(self) -> dict[str, Any]:
        """Return a description of all bytes read so far, for `seek`."""
        return self._prefix.fingerprint()

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from the line that begins at `offset`; on a pipe, skip the lines before it.

        With a `fingerprint`, raise ValueError unless the input begins with the bytes that it describes.
        """
        if self._regular:
            self._seek_file(offset, fingerprint)
        else:
            self._skip_to(offset, fingerprint)

    def close(self) -> None:
        """Close the file."""
        if self._owned:
            os.close(self._descriptor)
            self._owned = False

    def _seek_file(self, offset: int, fingerprint: dict[str, Any] | None) -> None:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        self._lines, self._next, self._ended = [], 0, False
        self._tail, self._tail_bytes, self._skipping = b"", 0, False
        self._tail_offset = offset
        prefix = PrefixHash(self.name)
        if fingerprint is not None:
            prefix.expect(fingerprint)
        self._number = 1 + self._read_prefix(prefix, offset)  # from the start, to count the lines
        self._prefix = prefix.copy()
        if fingerprint is not None:
            self._read_prefix(prefix, fingerprint["bytes"])
        os.lseek(self._descriptor, offset, os.SEEK_SET)

    def _read_prefix(self, prefix: PrefixHash, end: int) -> int:
        """Read the file up to byte `end`, without keeping anything, and return the number of lines."""
        n_lines = 0
        while prefix.n_bytes < end:
            chunk = os.read(self._descriptor, min(end - prefix.n_bytes, _CHUNK))
            if not chunk:
                raise ValueError(f"{self.name} ends before byte {end}; give the same file as in the run to resume")
            prefix.update(chunk)
            n_lines += chunk.count(b"\n")
        return n_lines

    def _skip_to(self, offset: int, fingerprint: dict[str, Any] | None) -> None:
        if self.offset > offset:
            raise ValueError(f"a pipe cannot go back from byte {self.offset} to {offset}; send it again from the start")
        if fingerprint is not None:
            self._prefix.expect(fingerprint)
        while self.offset < offset:
            if not self.read(1):
                self._wait_for_byte(offset)
        while fingerprint is not None and self._prefix.n_bytes < fingerprint["bytes"]:
            if self._ended or not self._fill():
                self._wait_for_byte(fingerprint["bytes"])

    def _wait_for_byte(self, position: int) -> None:
        if self._ended:
            raise ValueError(f"{self.name} ends before byte {position}; give the same input as in the run to resume")
        self.wait(1.0)

    def _fill(self) -> bool:
        """Read one chunk if there is one; return False if nothing is available at the moment."""
        if not self._regular and not select.select([self._descriptor], [], [], 0)[0]:
            return False
        chunk = os.read(self._descriptor, _CHUNK)
        self._prefix.update(chunk)
        if self._next:
            del self._lines[: self._next]
            self._next = 0
        if not chunk:
            self._ended = True
            if self._tail:
                self._end_line(self._tail, len(self._tail))
            self._tail = b""
            return True
        self._split_chunk(chunk)
        return True

    def _split_chunk(self, chunk: bytes) -> None:
        pieces = chunk.split(b"\n")
        last = pieces.pop()
        for at, piece in enumerate(pieces):
            if at == 1 and max(map(len, pieces)) <= self.max_line_bytes:
                self._add_lines(pieces[1:])
                break
            if self._tail or self._skipping:
                self._end_line(self._tail + piece, self._tail_bytes + len(piece) + 1)
            else:
                self._end_line(piece, len(piece) + 1)
            self._tail, self._tail_bytes, self._skipping = b"", 0, False
        self._tail_bytes += len(last)
        self._tail += last if not self._skipping else b""
        if len(self._tail) > self.max_line_bytes:
            self._tail, self._skipping = self._tail[:_SHOWN_BYTES], True

    def _add_lines(self, pieces: list[bytes]) -> None:
        """Add whole lines of an allowed length, all at once."""
        ends = list(accumulate([len(piece) + 1 for piece in pieces], initial=self._tail_offset))
        self._tail_offset = ends.pop()
        if any(piece.endswith(b"\r") for piece in pieces):
            pieces = [piece.removesuffix(b"\r") for piece in pieces]
        self._lines.extend(map(Line, ends, count(self._number), pieces))
        self._number += len(pieces)

    def _end_line(self, text: bytes, length: int) -> None:
        too_long = self._skipping or len(text) > self.max_line_bytes
        if too_long:
            text = text[:_SHOWN_BYTES]
        elif text.endswith(b"\r"):
            text = text[:-1]
        self._lines.append(Line(self._tail_offset, self._number, text, too_long))
        self._tail_offset += length
        self._number += 1
