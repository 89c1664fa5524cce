"""A query on a graph."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream._native import GraphQuery as _GraphQuery
from anystream.anytime.native_query import NativeQuery

_HEAD = struct.Struct("<4sq")  # a mark, and the steps taken; the record follows
_MARK = b"kag1"


class GraphQuery(NativeQuery):
    """One record and the vertices nearest to it so far; a step compares a vertex."""

    __slots__ = ()
    _native: _GraphQuery

    @property
    def nearest(self) -> NDArray[np.int64]:
        """The numbers of the nearest vertices so far, nearest first: as many as decide."""
        return self._native.nearest()

    @property
    def state(self) -> bytes:
        """The record and the number of steps: going on repeats them, at some nanoseconds each."""
        return _HEAD.pack(_MARK, self.steps) + self._native.record().tobytes()


def unpack_state(state: Any) -> tuple[NDArray[np.float64], int]:
    """The record and the steps of the `state` of a query."""
    if not isinstance(state, bytes):
        raise TypeError(f"state is a {type(state).__name__}; use the `state` of a query of this model")
    if len(state) < _HEAD.size or (len(state) - _HEAD.size) % 8 or state[:4] != _MARK:
        raise ValueError("not the state of a query of a graph; use the `state` of a query of this model")
    _, steps = _HEAD.unpack_from(state)
    if steps < 0:
        raise ValueError("not the state of a query of a graph: its steps are negative; open a new query")
    return np.frombuffer(state, np.float64, offset=_HEAD.size).copy(), steps
