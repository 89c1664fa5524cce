"""Hash of everything that was read from an input, by which a later run recognises the same input."""

from __future__ import annotations

import hashlib
from typing import Any

_HEAD = 2**18  # bytes from the start that are held, so that a fingerprint of a short input can be checked after a peek


class PrefixHash:
    """Hash of the bytes of an input from its start, in the order in which they are read.

    Parameters
    ----------
    name : str
        Name of the input in error messages.
    hashed : bool, default=True
        Whether to hash at all; otherwise bytes are only counted, and the fingerprint is that of no input.
    """

    def __init__(self, name: str, *, hashed: bool = True) -> None:
        self._name = name
        self._hashed = hashed
        self._hash = hashlib.sha256()
        self._head = b""
        self._expected: dict[str, Any] | None = None
        self.n_bytes = 0

    def update(self, chunk: bytes) -> None:
        """Add the next bytes; raise ValueError if they are not those that `expect` was told."""
        first, self.n_bytes = self.n_bytes, self.n_bytes + len(chunk)
        if not self._hashed:
            return
        if first < _HEAD:
            self._head += chunk[: _HEAD - first]
        if self._expected is not None and self.n_bytes >= self._expected["bytes"]:
            expected, self._expected = self._expected, None
            until = self._hash.copy()
            until.update(chunk[: expected["bytes"] - first])
            self._compare(until.hexdigest(), expected)
        self._hash.update(chunk)

    def fingerprint(self) -> dict[str, Any]:
        """Return the number of bytes so far, and their hash."""
        return {"bytes": self.n_bytes, "hash": self._hash.hexdigest() if self._hashed else ""}

    def expect(self, fingerprint: dict[str, Any]) -> None:
        """Raise ValueError, now or as soon as enough bytes are read, if the input does not begin with these bytes."""
        n_bytes = fingerprint["bytes"]
        if not self._hashed:
            raise ValueError(f"{self._name} is not hashed and cannot be compared with that of an earlier run")
        if n_bytes <= len(self._head):
            self._compare(hashlib.sha256(self._head[:n_bytes]).hexdigest(), fingerprint)
        elif n_bytes < self.n_bytes:
            raise ValueError(f"{self._name}: {self.n_bytes} bytes were read already; compare before reading that far")
        else:
            self._expected = fingerprint

    def copy(self) -> PrefixHash:
        """Return an equal hash, which expects nothing."""
        other = PrefixHash(self._name)
        other._hash, other._head, other.n_bytes = self._hash.copy(), self._head, self.n_bytes
        return other

    def _compare(self, found: str, expected: dict[str, Any]) -> None:
        if found != expected["hash"]:
            raise ValueError(
                f"{self._name}: the first {expected['bytes']} bytes are not those that the run has read; give the "
                "input of that run, which may have grown"
            )
