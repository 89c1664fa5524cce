"""Generators and data sets of `anystream.streams` as a source."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.contracts import PollResult
from anystream.runtime.records import Records
from anystream.runtime.row_hash import check_rows, describe_rows

_COMPARED = 256  # records from the start by which a generator is recognised


class Stream(Protocol):
    """What the generators and data sets of `anystream.streams` offer."""

    n_features: int
    n_records: int | None

    def take(self, n: int, *, start: int = 0) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return the `n` records from position `start` on."""


class GeneratedSource:
    """The records of a generator or a data set, with their labels; the offset of a record is its position.

    Parameters
    ----------
    stream : Stream
        Such as ``anystream.streams.SEA(...)``.
    n_records : int, optional
        Number of records; by default as many as the stream has, and for an endless one no end.
    """

    def __init__(self, stream: Stream, n_records: int | None = None) -> None:
        length = stream.n_records
        if n_records is not None and length is not None and n_records > length:
            raise ValueError(f"n_records is {n_records}, the stream has {length}; use {length} or fewer")
        self._stream = stream
        self._n_records = length if n_records is None else n_records
        self.offset = 0

    @property
    def done(self) -> bool:
        """Whether every record was polled."""
        return self._n_records is not None and self.offset >= self._n_records

    def poll(self, max_records: int) -> PollResult:
        """Return the next records."""
        first = self.offset
        n = max_records if self._n_records is None else min(max_records, self._n_records - first)
        if n < 1:
            return PollResult(Records.empty(self._stream.n_features))
        X, y = self._stream.take(n, start=first)
        self.offset = first + n
        return PollResult(Records.from_features(X, offset=np.arange(first, first + n), label=y))

    def wait(self, seconds: float) -> None:
        """Return at once: generated records are always ready."""

    def fingerprint(self) -> dict[str, Any]:
        """Return a hash of the first records, which a generator with the same seed makes again."""
        return describe_rows(self._take(min(self.offset, _COMPARED)))

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from position `offset`."""
        if fingerprint is not None:
            check_rows(self._take(fingerprint["records"]), fingerprint)
        self.offset = offset

    def acknowledge(self, offset: int) -> None:
        """Do nothing: a generator can make every record again."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _take(self, n: int) -> NDArray[np.float64]:
        return self._stream.take(n)[0] if n else np.empty((0, self._stream.n_features))
