"""A query on a graph."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream._native import GraphQuery as NativeQuery
from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.query import Query

if TYPE_CHECKING:
    from anystream.graph.surface import GraphClassifierMixin

_HEAD = struct.Struct("<4sq")  # a mark, and the steps taken; the record follows
_MARK = b"kag1"


class GraphQuery(Query):
    """One record and the vertices nearest to it so far."""

    __slots__ = ("_model", "_native")

    def __init__(self, model: GraphClassifierMixin, native: NativeQuery) -> None:
        self._model = model
        self._native = native

    def refine(self, budget: BudgetLike = None) -> Self:
        """Compare further vertices while `budget` lasts (None: all that can matter); return the query itself."""
        if type(budget) is int and budget >= 0:
            self._native.refine(budget)
        else:
            self._native.refine(*Budget.of(budget).limits())
        return self

    @property
    def label(self) -> Any:
        """The likeliest class so far."""
        return self._model.classes_[self._native.label()]

    @property
    def proba(self) -> NDArray[np.float64]:
        """Probabilities of the classes so far, in the order of the classifier's `classes_`."""
        return self._native.proba()

    @property
    def steps(self) -> int:
        """Vertices compared so far."""
        return self._native.steps

    @property
    def certified(self) -> bool:
        """Whether no further vertex could change the answer."""
        return self._native.exhausted

    @property
    def exhausted(self) -> bool:
        """Whether the neighbourhood is the exact one."""
        return self._native.exhausted

    @property
    def nearest(self) -> NDArray[np.int64]:
        """The numbers of the nearest vertices so far, nearest first: as many as decide."""
        return self._native.nearest()

    @property
    def state(self) -> bytes:
        """The record and the number of steps: going on repeats them, at some nanoseconds each."""
        return _HEAD.pack(_MARK, self.steps) + self._native.record().tobytes()

    def __reduce__(self) -> tuple[Any, ...]:
        return _resumed, (self._model, self.state)


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


def _resumed(model: GraphClassifierMixin, state: bytes) -> Query:
    return model.query(state=state)
