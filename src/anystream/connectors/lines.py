"""Lines of a file or a pipe with their positions, read without blocking."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.byte_input import ByteInput
from anystream.connectors.prefix_hash import PrefixHash

MAX_LINE_BYTES = 1_000_000
_MAX_UNDECIDED = 2**16  # bytes without a line feed after which a carriage return is taken for the line end
SPACE = b" \t\r\n\xef\xbb\xbf"
"""White space, and the byte order mark of UTF-8."""
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


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Lines that were read together, as positions in one text.

    Parameters
    ----------
    text : bytes
        Holds the lines.
    starts, ends : array of shape (n_lines,), int64
        Where each line begins and ends in `text`, without its end of line.
    offset : int
        Where `text` begins in the input, in bytes.
    number : int
        Number of the first line.
    too_long : bool
        Whether this is one line of which only the beginning is held.
    """

    text: bytes
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    offset: int
    number: int
    too_long: bool = False

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[Line]:
        for i, (start, end) in enumerate(zip(self.starts.tolist(), self.ends.tolist(), strict=True)):
            yield Line(self.offset + start, self.number + i, self.text[start:end], self.too_long)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each line begins in the input, in bytes."""
        return self.offset + self.starts

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of each line."""
        return np.arange(self.number, self.number + len(self), dtype=np.int64)

    def line(self, i: int) -> bytes:
        """Return the content of line i."""
        return self.text[self.starts[i] : self.ends[i]]

    def split(self, n: int) -> tuple[LineBlock, LineBlock]:
        """Return the first n lines, and the others."""
        first = LineBlock(self.text, self.starts[:n], self.ends[:n], self.offset, self.number, self.too_long)
        return first, LineBlock(self.text, self.starts[n:], self.ends[n:], self.offset, self.number + n, self.too_long)


class LineReader:
    """Complete lines as they become available.

    Parameters
    ----------
    path : path or "-"
        A file, or standard input.
    max_line_bytes : int, default=1_000_000
        Maximum number of bytes in a line; the rest of a longer one is skipped without being held in memory.
    hashed : bool, default=True
        Whether to hash everything that is read, so that a later run can recognise the input by its fingerprint.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, max_line_bytes: int = MAX_LINE_BYTES, hashed: bool = True
    ) -> None:
        self._input = ByteInput(path)
        self.name = self._input.name
        self.max_line_bytes = max_line_bytes
        self._ended = False
        self._line_end: bytes | None = None  # a line feed, or the carriage return of old files; None: not known yet
        self._blocks: deque[LineBlock] = deque()  # complete lines that were not read, in order
        self._n_ready = 0  # their number
        self._tail = b""  # the beginning of a line whose end was not read yet
        self._tail_offset = 0
        self._tail_bytes = 0  # length of that line so far, also where only its beginning is held
        self._skipping = False  # whether the tail is too long, so that only its beginning is held
        self._number = 1
        self._prefix = PrefixHash(self.name, hashed=hashed)

    @property
    def offset(self) -> int:
        """Where the next line begins."""
        return self._blocks[0].offset + int(self._blocks[0].starts[0]) if self._blocks else self._tail_offset

    @property
    def done(self) -> bool:
        """Whether the end was reached and every line read."""
        return self._ended and not self._blocks

    @property
    def ended(self) -> bool:
        """Whether the end was reached; there may still be lines to read."""
        return self._ended

    def read(self, max_lines: int) -> list[Line]:
        """Return at most `max_lines` lines that are available already."""
        while self._n_ready < max_lines and not self._ended:
            if not self._fill():
                break
        lines: list[Line] = []
        while self._blocks and len(lines) < max_lines:
            lines.extend(self.read_block(max_lines - len(lines)))
        return lines

    def peek_block(self, max_lines: int) -> LineBlock | None:
        """Return at most `max_lines` lines that are available already, without reading them; None if there are none."""
        if not self._blocks and not self._ended:
            self._fill()
        return self._blocks[0].split(max_lines)[0] if self._blocks else None

    def read_block(self, max_lines: int) -> LineBlock:
        """Return at most `max_lines` of the lines that `peek_block` sees."""
        first, rest = self._blocks.popleft().split(max_lines)
        if len(rest):
            self._blocks.appendleft(rest)
        self._n_ready -= len(first)
        if self._input.is_file and not self._blocks and not self._ended:
            self._fill()  # look ahead, so that `done` is true after the last line
        return first

    def peek_first_byte(self) -> bytes:
        """Return the first byte that is not white space, without reading it; blocks until there is one or the end."""
        while True:
            texts = [line.text for block in self._blocks for line in block]
            seen = b"\n".join([*texts, self._tail]).lstrip(SPACE)
            if seen or self._ended:
                return seen[:1]
            self.wait(1.0)
            self._fill()

    @property
    def is_file(self) -> bool:
        """Whether the input is a file, not a pipe."""
        return self._input.is_file

    @property
    def share_read(self) -> float | None:
        """Share of the file that was read; None for a pipe."""
        return min(self._input.n_read / self._input.size, 1.0) if self._input.size else None

    def wait(self, seconds: float) -> None:
        """Return when there is more to read, and after `seconds` at the latest."""
        if not self._ended:
            self._input.wait(seconds)

    def fingerprint(self) -> dict[str, Any]:
        """Return a description of all bytes read so far, for `seek`."""
        return self._prefix.fingerprint()

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from the line that begins at `offset`; on a pipe, skip the lines before it.

        With a `fingerprint`, raise ValueError unless the input begins with the bytes that it describes.
        """
        if self._input.is_file:
            self._seek_file(offset, fingerprint)
        else:
            self._skip_to(offset, fingerprint)

    def close(self) -> None:
        """Close the file."""
        self._input.close()

    def _seek_file(self, offset: int, fingerprint: dict[str, Any] | None) -> None:
        self._blocks.clear()
        self._n_ready, self._ended, self._line_end = 0, False, None
        self._tail, self._tail_bytes, self._skipping = b"", 0, False
        self._tail_offset = offset
        self._input.rewind(0)
        prefix = PrefixHash(self.name)
        if fingerprint is not None:
            prefix.expect(fingerprint)
        self._number = 1 + self._read_prefix(prefix, offset)  # from the start, to count the lines
        self._prefix = prefix.copy()
        if fingerprint is not None:
            self._read_prefix(prefix, fingerprint["bytes"])
        self._input.rewind(offset)

    def _read_prefix(self, prefix: PrefixHash, end: int) -> int:
        """Read on to byte `end`, without keeping anything, and return the number of lines."""
        n_lines = {b"\n": 0, b"\r": 0}
        while prefix.n_bytes < end:
            chunk = self._input.read(end - prefix.n_bytes)
            if not chunk:
                raise ValueError(f"{self.name} ends before byte {end}; give the same file as in the run to resume")
            prefix.update(chunk)
            for line_end in n_lines:
                n_lines[line_end] += chunk.count(line_end)
        if self._line_end is None and prefix.n_bytes:
            self._line_end = b"\r" if n_lines[b"\r"] and not n_lines[b"\n"] else b"\n"
        return n_lines[self._line_end or b"\n"]

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
        chunk = self._input.read()
        if chunk is None:
            return False
        self._prefix.update(chunk)
        if self._line_end is None:
            self._choose_line_end(chunk)
        if not chunk:
            self._ended = True
            if self._tail:
                self._end_line(self._tail, len(self._tail))
            self._tail = b""
            return True
        self._split_chunk(chunk)
        return True

    def _choose_line_end(self, chunk: bytes) -> None:
        """Decide by the first line feed; a long text, or a whole one, with carriage returns only is split at these."""
        if b"\n" in chunk:
            self._line_end = b"\n"
        elif b"\r" in self._tail + chunk and (not chunk or len(self._tail) + len(chunk) > _MAX_UNDECIDED):
            self._line_end = b"\r"
            tail, self._tail, self._tail_bytes = self._tail, b"", 0
            self._split_chunk(tail)

    def _split_chunk(self, chunk: bytes) -> None:
        line_end = self._line_end or b"\n"
        text = self._tail + chunk
        content = np.frombuffer(text, dtype=np.uint8)
        ends = np.flatnonzero(content == line_end[0]).astype(np.int64, copy=False)
        starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
        if self._skipping or (len(ends) and (ends - starts).max() > self.max_line_bytes):
            self._split_long(chunk, line_end)
            return
        if len(ends):
            used = int(ends[-1]) + 1
            has_return = (ends > starts) & (content[ends - 1] == ord("\r"))
            self._add(LineBlock(text, starts, ends - has_return, self._tail_offset, self._number))
            self._tail_offset += used
            text = text[used:]
        self._tail, self._tail_bytes = text, len(text)
        self._cut_tail()

    def _split_long(self, chunk: bytes, line_end: bytes) -> None:
        """Split a chunk one line after the other, since some are too long."""
        *pieces, last = chunk.split(line_end)
        for piece in pieces:
            self._end_line(self._tail + piece, self._tail_bytes + len(piece) + 1)
            self._tail, self._tail_bytes, self._skipping = b"", 0, False
        self._tail_bytes += len(last)
        self._tail += last if not self._skipping else b""
        self._cut_tail()

    def _cut_tail(self) -> None:
        if len(self._tail) > self.max_line_bytes:
            self._tail, self._skipping = self._tail[:_SHOWN_BYTES], True

    def _add(self, block: LineBlock) -> None:
        self._blocks.append(block)
        self._n_ready += len(block)
        self._number += len(block)

    def _end_line(self, text: bytes, length: int) -> None:
        too_long = self._skipping or len(text) > self.max_line_bytes
        if too_long:
            text = text[:_SHOWN_BYTES]
        elif text.endswith(b"\r"):
            text = text[:-1]
        bounds = np.array([0, len(text)], dtype=np.int64)
        self._add(LineBlock(text, bounds[:1], bounds[1:], self._tail_offset, self._number, too_long))
        self._tail_offset += length
