"""Query that is exhausted when it is opened."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.query import Query


class DecidedQuery(Query):
    """Query of a classifier that takes no steps; its state is the list of probabilities.

    Parameters
    ----------
    classes : array
        Class labels.
    proba : array of shape (n_classes,)
        Probabilities of the first ``n_classes`` of them.
    """

    __slots__ = ("_classes", "_proba")

    def __init__(self, classes: NDArray[Any], proba: NDArray[np.float64]) -> None:
        self._classes = classes
        self._proba = proba

    @classmethod
    def resume(cls, classes: NDArray[Any], state: Any) -> Self:
        """Return a query from its `state`."""
        if not (isinstance(state, list) and state and all(isinstance(value, float) for value in state)):
            raise TypeError(f"state is a {type(state).__name__}; use the `state` of a query of this model")
        if len(state) > len(classes):
            raise ValueError(
                f"the state has {len(state)} classes, the model has {len(classes)}; resume it with its own model"
            )
        proba = np.array(state)
        if not (proba >= 0).all() or abs(proba.sum() - 1) > 1e-6:
            raise ValueError("not the state of a query of this model: its probabilities do not sum to 1")
        return cls(classes, proba)

    def refine(self, budget: BudgetLike = None) -> Self:
        """Check the budget and return the query itself: no step is left."""
        Budget.of(budget)
        return self

    @property
    def label(self) -> Any:
        """The most probable class."""
        return self._classes[self._proba.argmax()]

    @property
    def proba(self) -> NDArray[np.float64]:
        """Probabilities of the classes, in the order of the classifier's `classes_`."""
        return self._proba.copy()

    @property
    def steps(self) -> int:
        """Always 0."""
        return 0

    @property
    def certified(self) -> bool:
        """Always True: the label does not change."""
        return True

    @property
    def exhausted(self) -> bool:
        """Always True: no step is left."""
        return True

    @property
    def state(self) -> list[float]:
        """The probabilities."""
        return list(self._proba.tolist())

    def __reduce__(self) -> tuple[Any, ...]:
        return DecidedQuery, (self._classes, self._proba)  # the model is not needed
