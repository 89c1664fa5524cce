"""UBJSON, the binary form of JSON that XGBoost writes, read without running code.

A value is a marker of one byte and its content, big-endian. Containers may name their count, and arrays the type of
their numbers; such arrays become NumPy arrays.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from anystream.model_file.errors import InvalidContent, short

_MAX_DEPTH = 64
_NUMBERS = {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q", b"d": ">f", b"D": ">d"}
_ARRAYS = {marker: np.dtype(code) for marker, code in _NUMBERS.items()}
_SCALARS = {marker: struct.Struct(code) for marker, code in _NUMBERS.items()}
_COUNTS = {marker: scalar for marker, scalar in _SCALARS.items() if marker not in (b"d", b"D")}
_CONSTANTS = {b"Z": None, b"T": True, b"F": False}


def parse_ubjson(raw: bytes) -> Any:
    """Return the value of a whole file; raise InvalidContent if it is malformed or truncated."""
    reader = _Reader(raw)
    value = reader.read_value(reader.read_marker(), 0)
    if reader.position != len(raw):
        raise InvalidContent(f"its UBJSON ends at byte {reader.position} of {len(raw)}")
    return value


class _Reader:
    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.position = 0

    def take(self, n_bytes: int) -> bytes:
        end = self.position + n_bytes
        if n_bytes < 0 or end > len(self.raw):
            raise InvalidContent(f"its UBJSON is truncated or malformed at byte {self.position}")
        part = self.raw[self.position : end]
        self.position = end
        return part

    def read_marker(self) -> bytes:
        marker = self.take(1)
        while marker == b"N":  # no operation
            marker = self.take(1)
        return marker

    def next_is(self, marker: bytes) -> bool:
        """Whether the next byte is this marker; if so, skip it."""
        found = self.raw[self.position : self.position + 1] == marker
        self.position += found
        return found

    def read_value(self, marker: bytes, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise InvalidContent(f"its UBJSON is nested deeper than {_MAX_DEPTH} levels")
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker in _SCALARS:
            return self.read_scalar(_SCALARS[marker])
        if marker == b"S":
            return self.read_text()
        if marker == b"[":
            return self.read_array(depth)
        if marker == b"{":
            return self.read_object(depth)
        raise InvalidContent(f"its UBJSON has the marker {short(marker)} at byte {self.position - 1}")

    def read_scalar(self, scalar: struct.Struct) -> Any:
        return scalar.unpack(self.take(scalar.size))[0]

    def read_count(self) -> int:
        marker = self.read_marker()
        if marker not in _COUNTS:
            raise InvalidContent(f"its UBJSON has a length of type {short(marker)} at byte {self.position - 1}")
        return int(self.read_scalar(_COUNTS[marker]))

    def read_text(self) -> str:
        try:
            return self.take(self.read_count()).decode()
        except UnicodeDecodeError:
            raise InvalidContent(f"its UBJSON has a text before byte {self.position} that is not UTF-8") from None

    def read_array(self, depth: int) -> Any:
        if self.next_is(b"$"):
            marker = self.take(1)
            if marker not in _ARRAYS or not self.next_is(b"#"):
                raise InvalidContent(f"its UBJSON has an array of type {short(marker)} at byte {self.position}")
            dtype = _ARRAYS[marker]
            return np.frombuffer(self.take(self.read_count() * dtype.itemsize), dtype)
        if self.next_is(b"#"):
            count = self.read_count()
            if not 0 <= count <= len(self.raw) - self.position:  # every value takes a byte or more
                raise InvalidContent(f"its UBJSON has an array of {count} values at byte {self.position}")
            return [self.read_value(self.read_marker(), depth + 1) for _ in range(count)]
        values = []
        while (marker := self.read_marker()) != b"]":
            values.append(self.read_value(marker, depth + 1))
        return values

    def read_object(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if self.next_is(b"$"):
            raise InvalidContent(
                f"its UBJSON has an object of one type at byte {self.position}, which is not supported"
            )
        count = self.read_count() if self.next_is(b"#") else None
        while count is None or len(values) < count:
            if count is None and self.next_is(b"}"):
                break
            key = self.read_text()
            if key in values:
                raise InvalidContent(f"its UBJSON has {short(key)} twice")
            values[key] = self.read_value(self.read_marker(), depth + 1)
        return values
