"""Bytes of a file or of standard input, decompressed and as UTF-8, read without blocking."""

from __future__ import annotations

import bz2
import codecs
import lzma
import os
import selectors
import stat
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

_CHUNK = 2**20  # bytes read at a time
_COMPRESSED_CHUNK = 2**14  # of compressed data, which may become a thousand times as long
_MAGIC_BYTES = 8  # bytes by which a kind of data is recognised
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_TABLE_MAGIC = {b"PAR1": "Parquet", b"ARROW1": "Arrow"}
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)  # the other takes no number above 1,023
_ARCHIVE_MAGIC = {b"PK\x03\x04": "a zip archive or a spreadsheet"}


class _Compression(NamedTuple):
    """One compression: its name, and a function that makes a decompressor of one compressed stream."""

    name: str
    make: Callable[[], Any]


def _make_zstd() -> Any:
    try:
        from compression.zstd import ZstdDecompressor  # type: ignore[import-not-found]  # since Python 3.14

        return ZstdDecompressor()
    except ImportError:
        pass
    try:
        from zstandard import ZstdDecompressor as Zstandard
    except ImportError as error:
        raise ImportError(
            "data compressed by zstd need zstandard; install anystream[zstd], or pipe it: zstd -dc FILE | anystream ..."
        ) from error
    return Zstandard().decompressobj()


_COMPRESSIONS = {
    b"\x1f\x8b": _Compression("gzip", lambda: zlib.decompressobj(wbits=31)),
    b"\x28\xb5\x2f\xfd": _Compression("zstd", _make_zstd),
    b"BZh": _Compression("bzip2", bz2.BZ2Decompressor),
    b"\xfd7zXZ\x00": _Compression("xz", lzma.LZMADecompressor),
}


class ByteInput:
    """Bytes of a file or of standard input; what is compressed or UTF-16 is recognised by its first bytes.

    Positions count decoded bytes: those of the text, not of the file.

    Parameters
    ----------
    path : path or "-"
        A file, or standard input.

    Attributes
    ----------
    name : str
        Its name in messages.
    is_file : bool
        Whether it is a file: always ready, and it can be read again.
    size : int or None
        Bytes of the file before they are decoded; None for a pipe.
    n_read : int
        Bytes read so far, before they are decoded.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = "standard input" if path == "-" else str(path)
        self._owned = path != "-"
        self._descriptor = sys.stdin.fileno() if path == "-" else os.open(Path(path), os.O_RDONLY)
        status = os.fstat(self._descriptor)
        self.is_file = stat.S_ISREG(status.st_mode)
        self.size = status.st_size if self.is_file else None
        self.n_read = 0
        self._head = b""  # read before the decoders are known
        self._ahead = b""  # decoded, and not returned yet
        self._decoders: list[_Decompressor | _FromUtf16] | None = None  # one after the other
        self._ended = False

    def read(self, max_bytes: int | None = None) -> bytes | None:
        """Return the next bytes; b"" at the end, and None if nothing is available at the moment."""
        chunk = self._ahead or self._read_chunk()
        if chunk is None:
            return None
        end = len(chunk) if max_bytes is None else max_bytes
        self._ahead = chunk[end:]
        return chunk[:end]

    def wait(self, seconds: float) -> None:
        """Return when there is more to read, and after `seconds` at the latest."""
        if not self._ended and not self.is_file:
            self._is_ready(seconds)

    def rewind(self, position: int) -> None:
        """Continue from a position; only a file can do that, and one that is compressed is decoded from its start."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        self.n_read, self._head, self._ahead, self._decoders, self._ended = 0, b"", b"", None, False
        n_left = position
        while n_left:
            chunk = self.read(n_left)
            if not chunk:
                raise ValueError(f"{self.name} ends before byte {position}; give the same file as in the run to resume")
            n_left -= len(chunk)
            if not self._decoders:  # the bytes are those of the file
                os.lseek(self._descriptor, position, os.SEEK_SET)
                self._ahead, self.n_read = b"", position
                return

    def close(self) -> None:
        """Close the file."""
        if self._owned:
            os.close(self._descriptor)
            self._owned = False

    def _is_ready(self, seconds: float) -> bool:
        """Whether there is something to read, or the end, within `seconds`; of any descriptor, not only small ones."""
        with _Selector() as selector:
            selector.register(self._descriptor, selectors.EVENT_READ)
            return bool(selector.select(seconds))

    def _read_chunk(self) -> bytes | None:
        while not self._ended:
            if not self.is_file and not self._is_ready(0.0):
                return None
            chunk = os.read(self._descriptor, _COMPRESSED_CHUNK if self._decoders else _CHUNK)
            self.n_read += len(chunk)
            self._ended = not chunk
            if self._decoders is None:
                self._head += chunk
                if len(self._head) < _MAGIC_BYTES and b"\n" not in self._head and not self._ended:
                    continue
                chunk, self._head = self._head, b""
                self._decoders = _choose_decoders(chunk, self.name)
            for decoder in self._decoders:
                chunk = decoder.decode(chunk, self._ended)
            if chunk:
                return chunk
        return b""


def read_magic(path: str | os.PathLike[str]) -> str | None:
    """Return "Parquet" or "Arrow" if a file begins like one, otherwise None; pipes are not read."""
    if not Path(path).is_file():
        return None
    with open(path, "rb") as file:
        return _find_magic(file.read(_MAGIC_BYTES), _TABLE_MAGIC)


def _find_magic(head: bytes, magic: dict[bytes, T]) -> T | None:
    return next((found for first, found in magic.items() if head.startswith(first)), None)


def _choose_decoders(head: bytes, name: str) -> list[_Decompressor | _FromUtf16]:
    """Return the decoders of data that begins with these bytes."""
    if (kind := _find_magic(head, _TABLE_MAGIC)) is not None:
        raise ValueError(f"{name} holds {kind}, which cannot be read as text or from a pipe; name the {kind} file")
    if (kind := _find_magic(head, _ARCHIVE_MAGIC)) is not None:
        raise ValueError(f"{name} is {kind}; give CSV, JSON lines, Parquet or Arrow")
    compression = _find_magic(head, _COMPRESSIONS)
    if compression is not None:
        return [_Decompressor(compression, name), _FromUtf16(name)]
    return [_FromUtf16(name)] if head.startswith(_UTF16_MARKS) else []


class _Decompressor:
    """Decoder of compressed data: one stream, or several after each other."""

    def __init__(self, compression: _Compression, name: str) -> None:
        self._compression = compression
        self._name = name
        self._stream = compression.make()

    def decode(self, chunk: bytes, at_end: bool) -> bytes:
        """Return the data of the next compressed bytes."""
        parts = []
        try:
            while chunk:
                if self._stream.eof:
                    if not chunk.strip(b"\0"):  # a tape ends with zeros
                        break
                    self._stream = self._compression.make()
                parts.append(self._stream.decompress(chunk))
                chunk = self._stream.unused_data
        except Exception as error:  # each library has errors of its own
            raise self._damaged(str(error)) from None
        if at_end and not self._stream.eof:
            raise self._damaged("they end in the middle")
        return b"".join(parts)

    def _damaged(self, problem: str) -> ValueError:
        return ValueError(f"{self._name}: the {self._compression.name} data are damaged ({problem}); make them anew")


class _FromUtf16:
    """Decoder of UTF-16 into UTF-8, if the data begin with a byte order mark; otherwise they stay as they are."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._decoder: codecs.IncrementalDecoder | None = None
        self._head: bytes | None = b""  # until it is known whether there is a mark

    def decode(self, chunk: bytes, at_end: bool) -> bytes:
        """Return the next bytes as UTF-8."""
        if self._head is not None:
            chunk = self._head + chunk
            if len(chunk) < len(_UTF16_MARKS[0]) and not at_end:
                self._head = chunk
                return b""
            self._head = None
            if chunk.startswith(_UTF16_MARKS):
                self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        return chunk if self._decoder is None else self._decoder.decode(chunk, at_end).encode()
