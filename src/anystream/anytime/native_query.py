"""A query whose work is done by the native core: what all rooms share."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from anystream._native import StopToken
from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.query import Query


class OpenQuery(Protocol):
    """One classification in progress, as the native core offers it."""

    @property
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def exhausted(self) -> bool:
        """Nothing is left to do."""

    def refine(self, steps: int = -1, nanoseconds: int = -1, stop: StopToken | None = None) -> int:
        """Take steps within the limits (-1: none); return how many."""

    def label(self) -> int:
        """The number of the likeliest class."""

    def proba(self) -> NDArray[np.float64]:
        """The probabilities of the classes."""


class NativeQuery(Query):
    """One record and what the native core found about it so far; a room adds its `state` and what it knows besides."""

    __slots__ = ("_classes", "_model", "_native")

    def __init__(self, model: Any, native: Any) -> None:
        self._model = model
        self._native = native
        self._classes = model.classes_  # as they were: the model may learn further ones or be fitted anew

    def refine(self, budget: BudgetLike = None) -> Self:
        """Take steps while `budget` lasts (None: until nothing is left to do); return the query itself."""
        if type(budget) is int and budget >= 0:
            self._native.refine(budget)
        else:
            self._native.refine(*Budget.of(budget).limits())
        return self

    @property
    def label(self) -> Any:
        """The likeliest class so far."""
        return self._classes[self._native.label()]

    @property
    def proba(self) -> NDArray[np.float64]:
        """Probabilities of the classes so far, in the order of the classifier's `classes_`."""
        proba: NDArray[np.float64] = self._native.proba()
        return proba

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return int(self._native.steps)

    @property
    def certified(self) -> bool:
        """Whether no further step could change the label."""
        return bool(self._native.exhausted)

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to do."""
        return bool(self._native.exhausted)

    def __reduce__(self) -> tuple[Any, ...]:
        return _resumed, (self._model, self.state)


def _resumed(model: Any, state: Any) -> Query:
    query: Query = model.query(state=state)
    return query
