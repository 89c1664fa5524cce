"""A query that is answered when it is opened."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.query import Query


class DecidedQuery(Query):
    """The answer of a classifier that knows no steps; its state is the answer itself."""

    __slots__ = ("_classes", "_proba")

    def __init__(self, classes: NDArray[Any], proba: NDArray[np.float64]) -> None:
        self._classes = classes
        self._proba = proba

    @classmethod
    def resume(cls, classes: NDArray[Any], state: Any) -> Self:
        """A query from its `state`."""
        if not (isinstance(state, list) and state and all(isinstance(value, float) for value in state)):
            raise TypeError(f"state is {type(state).__name__}; use the `state` of a query of this model")
        if len(state) > len(classes):
            raise ValueError(f"the state has {len(state)} classes, the model {len(classes)}; use the model it is from")
        return cls(classes[: len(state)], np.array(state))

    def refine(self, budget: BudgetLike = None) -> Self:
        """Nothing is left to do; return the query itself."""
        Budget.of(budget)
        return self

    @property
    def label(self) -> Any:
        """The likeliest class."""
        return self._classes[self._proba.argmax()]

    @property
    def proba(self) -> NDArray[np.float64]:
        """Probabilities of the classes, in the order of the classifier's `classes_`."""
        return self._proba.copy()

    @property
    def steps(self) -> int:
        """0: the answer was given whole."""
        return 0

    @property
    def certified(self) -> bool:
        """True: the answer does not change."""
        return True

    @property
    def exhausted(self) -> bool:
        """True: nothing is left to do."""
        return True

    @property
    def state(self) -> list[float]:
        """The probabilities."""
        return list(self._proba.tolist())

    def __reduce__(self) -> tuple[Any, ...]:
        return DecidedQuery, (self._classes, self._proba)
