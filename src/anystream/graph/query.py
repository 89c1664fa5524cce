"""Query on a graph."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream._native import GraphQuery as _GraphQuery
from anystream.estimators.native_query import NativeQuery, check_bytes_state

_HEAD = struct.Struct("<4sq")  # a magic number and the steps taken; the record follows
_MAGIC = b"kag1"


class GraphQuery(NativeQuery):
    """One record and the vertices nearest to it so far; a step compares one vertex."""

    __slots__ = ()
    _native: _GraphQuery

    @property
    def nearest(self) -> NDArray[np.int64]:
        """The numbers of the nearest vertices so far, nearest first: those that decide the label."""
        return self._native.nearest()

    @property
    def state(self) -> bytes:
        """The record and the number of steps; resuming repeats these steps, at some nanoseconds each."""
        return _HEAD.pack(_MAGIC, self.steps) + self._native.record().tobytes()


def unpack_state(state: Any) -> tuple[NDArray[np.float64], int]:
    """Return the record and the number of steps in the `state` of a query."""
    content = check_bytes_state(state)
    if len(content) < _HEAD.size or (len(content) - _HEAD.size) % 8 or content[:4] != _MAGIC:
        raise ValueError("not the state of a query of a graph; use the `state` of a query of this model")
    _, steps = _HEAD.unpack_from(content)
    if steps < 0:
        raise ValueError(f"not the state of a query of a graph: it has {steps} steps; open a new query")
    return np.frombuffer(content, np.float64, offset=_HEAD.size).copy(), steps
