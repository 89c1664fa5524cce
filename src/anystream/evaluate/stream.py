"""Streams as evaluations read them: a protocol, arrays as a stream, and the checks of both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anystream.streams.parameters import check_int

Batch = tuple[NDArray[np.float64], NDArray[Any]]


class Stream(Protocol):
    """Labelled records in order: generators and data sets of `anystream.streams`, or any class with `batches`."""

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield batches ``(X, y)`` of `size` records; the last one may be smaller."""
        ...


StreamLike = Stream | tuple[ArrayLike, ArrayLike]


class ArrayStream:
    """Arrays ``(X, y)`` as a stream."""

    def __init__(self, X: Any, y: Any) -> None:
        self.X, self.y = np.asarray(X, dtype=np.float64), np.asarray(y)
        if self.X.ndim != 2 or self.y.shape != (len(self.X),):
            raise ValueError(f"X has the shape {self.X.shape} and y {self.y.shape}; give one label per record")
        self.classes = np.unique(self.y)

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield batches ``(X, y)`` of `size` records; the last one may be smaller."""
        return ((self.X[at : at + size], self.y[at : at + size]) for at in range(0, len(self.y), size))


def as_stream(stream: StreamLike) -> Stream:
    """Return a stream unchanged, and a pair of arrays as an `ArrayStream`."""
    if isinstance(stream, tuple) and len(stream) == 2:
        return ArrayStream(*stream)
    if not hasattr(stream, "batches"):
        raise TypeError(
            f"the stream is a {type(stream).__name__}; give a stream of anystream.streams, or a pair (X, y)"
        )
    return stream


def stream_name(stream: Stream) -> str:
    """Return the name of a stream for tables and errors."""
    return str(getattr(stream, "name", type(stream).__name__))


def check_limit(stream: Stream, name: str, value: int | None) -> int | None:
    """Check the parameter that limits how much is read; None reads everything, unless the stream is endless."""
    if value is not None:
        return check_int(name, value, min_value=1)
    if hasattr(stream, "n_records") and stream.n_records is None:
        raise ValueError(f"{stream_name(stream)} is an endless stream; give {name} to limit how much of it is read")
    return None
