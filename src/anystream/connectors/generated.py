"""Records from a stream that is made by rule and chance."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.items import Items
from anystream.connectors.protocols import Polled


class Stream(Protocol):
    """What the generators and data sets of `anystream.streams` offer."""

    n_features: int
    n_records: int | None

    def take(self, n: int, *, start: int = 0) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """The `n` records from position `start` on."""


class GeneratedSource:
    """The records of a generator or a data set, with their labels; the offset of a record is its position.

    Parameters
    ----------
    stream : Stream
        Such as ``anystream.streams.SEA(...)``.
    n_records : int, optional
        How many records there are; by default as many as the stream has, and for an endless one no end.
    """

    def __init__(self, stream: Stream, n_records: int | None = None) -> None:
        length = stream.n_records
        if n_records is not None and length is not None and n_records > length:
            raise ValueError(f"n_records is {n_records}, the stream has {length}; take fewer")
        self._stream = stream
        self._n = length if n_records is None else n_records
        self.offset = 0

    @property
    def done(self) -> bool:
        """Every record was polled."""
        return self._n is not None and self.offset >= self._n

    def poll(self, most: int) -> Polled:
        """The next records."""
        first = self.offset
        n = most if self._n is None else min(most, self._n - first)
        if n < 1:
            return Polled(Items.none(self._stream.n_features))
        X, y = self._stream.take(n, start=first)
        self.offset = first + n
        return Polled(Items.of(X, offset=np.arange(first, first + n), label=y))

    def wait(self, seconds: float) -> None:
        """Return at once: what is computed is ready."""

    def seek(self, offset: int) -> None:
        """Go on from position `offset`."""
        self.offset = offset

    def acknowledge(self, offset: int) -> None:
        """A generator forgets nothing."""

    def close(self) -> None:
        """Nothing to let go of."""
