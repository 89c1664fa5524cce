"""The bytes of the arrays of a model file: copied into memory, mapped, or read in chunks."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from io import BufferedReader

import numpy as np
from numpy.typing import NDArray

from anystream.model_file.errors import InvalidContent

_CHUNK = 2**20  # bytes


def copy_payload(file: BufferedReader, begin: int, end: int, alignment: int) -> NDArray[np.uint8]:
    """Return the bytes from `begin` to `end` in memory, at a multiple of `alignment`, read-only."""
    size = end - begin
    try:
        memory = np.empty(size + alignment, np.uint8)
    except MemoryError:
        raise InvalidContent(f"its {size} bytes do not fit in memory", "read it with mmap=True") from None
    start = -memory.ctypes.data % alignment
    payload = memory[start : start + size]
    file.seek(begin)
    if file.readinto(payload.data) != size:
        raise _changed()
    memory.flags.writeable = payload.flags.writeable = False
    return payload


def map_payload(file: BufferedReader, begin: int, end: int) -> NDArray[np.uint8]:
    """Return the bytes from `begin` to `end`, the end of the file, mapped."""
    try:
        return np.frombuffer(mmap.mmap(file.fileno(), end, access=mmap.ACCESS_READ), np.uint8)[begin:]
    except ValueError:  # shorter than when its size was read
        raise _changed() from None


def read_chunks(file: BufferedReader, begin: int, end: int) -> Iterator[memoryview]:
    """Yield the bytes from `begin` to `end`; a chunk is valid until the next."""
    buffer = memoryview(bytearray(min(_CHUNK, end - begin)))
    file.seek(begin)
    while begin < end:
        chunk = buffer[: end - begin]
        if file.readinto(chunk) != len(chunk):
            raise _changed()
        yield chunk
        begin += len(chunk)


def _changed() -> InvalidContent:
    return InvalidContent("it changed while being read", "read it again")
