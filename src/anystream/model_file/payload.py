"""The bytes of the arrays of a model file: copied into memory, mapped, or read in chunks."""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream._native import MappingGuard, ModelFileError
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


def is_mapped(array: NDArray[Any]) -> bool:
    """Whether an array lies in a mapped file, whose pages the system can drop from memory at any time."""
    owner: Any = array
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    return isinstance(getattr(owner, "obj", owner), MappedFile)


class MappedFile(mmap.mmap):
    """A mapped file that notices when it is changed in place or truncated.

    A change never ends the process: pages that are gone are read as zeros (`MappingGuard`), and native code checks
    every position that it reads from a mapped array. But results may be wrong then, so `FileWatch.check` comes after
    them. Reading the file's time and size takes a microsecond.
    """

    def __new__(cls, file: BufferedReader, size: int) -> Self:
        """Map the first `size` bytes."""
        mapping = super().__new__(cls, file.fileno(), size, access=mmap.ACCESS_READ)
        mapping._descriptor = os.dup(file.fileno())
        mapping._guard = MappingGuard(np.frombuffer(mapping, np.uint8))
        mapping._before = mapping._stamp()
        return mapping

    def has_changed(self) -> bool:
        """Whether the file was written to or truncated since it was mapped; replacing it is no change."""
        return self._guard.lost or self._stamp() != self._before

    def _stamp(self) -> tuple[int, int]:
        now = os.fstat(self._descriptor)
        return now.st_size, now.st_mtime_ns

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self._descriptor)

    _guard: MappingGuard  # deleted before the mapping is removed, with the other attributes
    _descriptor: int
    _before: tuple[int, int]


class FileWatch:
    """Tells whether the mapped file that a model was loaded from has changed; copies and pickles of it never do.

    It does not keep the mapping: a model that no longer reads it does not notice changes.
    """

    def __init__(self, path: Path | None = None, mapping: MappedFile | None = None) -> None:
        self._path = path
        self._mapping = None if mapping is None else weakref.ref(mapping)

    def check(self) -> None:
        """Raise ModelFileError if the file has changed."""
        mapping = None if self._mapping is None else self._mapping()
        if mapping is not None and mapping.has_changed():
            raise ModelFileError(
                f"{self._path}: the file was changed while it was mapped; load the model again, without mmap if files "
                "are edited or copied over"
            )

    def snapshot(self) -> FileWatch:
        """Return the watch of a snapshot of the model, which reads the same mapping."""
        return self

    def __reduce__(self) -> tuple[type[FileWatch], tuple[()]]:
        return FileWatch, ()


def map_payload(file: BufferedReader, begin: int, end: int) -> tuple[NDArray[np.uint8], MappedFile]:
    """Return the bytes from `begin` to `end`, the end of the file, mapped, and the mapping."""
    try:
        mapping = MappedFile(file, end)
    except ValueError:  # shorter than when its size was read
        raise _changed() from None
    return np.frombuffer(mapping, np.uint8)[begin:], mapping


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
