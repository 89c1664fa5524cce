"""Query: one record being classified step by step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import BudgetLike


class Query(ABC):
    """One record being classified. It has a label from the start and can be stopped, stored and resumed.

    ``refine(a)`` followed by ``refine(b)`` equals ``refine(a + b)``, bit for bit. Reading `label`, `proba` or `state`
    changes nothing, and may be done in other threads while one refines: they do not wait for its end. A query keeps
    using the model as it was when the query was opened, even if the model learns more.
    Pickling a query pickles its model too. To store a query without the model, keep its `state` and pass it to
    ``model.query(state=…)`` later.
    """

    __slots__ = ("_model",)

    _model: Any  # the classifier that opened the query, needed for pickling only; set by `AnytimeClassifier.query`

    @abstractmethod
    def refine(self, budget: BudgetLike = None) -> Self:
        """Take steps within `budget` (None: until nothing is left to do); return the query itself."""

    @property
    @abstractmethod
    def label(self) -> Any:
        """The most probable class so far."""

    @property
    @abstractmethod
    def proba(self) -> NDArray[np.float64]:
        """Probabilities of the classes so far, in the order of the classifier's `classes_`."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    @abstractmethod
    def certified(self) -> bool:
        """Whether no further step could change the label."""

    @property
    def confident(self) -> bool:
        """Whether a test of the classifier ended the work, at a stated rate of error; not certified."""
        return False

    @property
    @abstractmethod
    def exhausted(self) -> bool:
        """Whether no step is left."""

    @property
    @abstractmethod
    def state(self) -> Any:
        """A small, picklable value from which the model can resume the query."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _resume, (self._model, self.state)

    def __repr__(self) -> str:
        end = ", exhausted" if self.exhausted else ", certified" if self.certified else ""
        end = end or (", confident" if self.confident else "")
        return f"{type(self).__name__}(label={self.label!r}, p={self.proba.max():.3f}, steps={self.steps}{end})"


def _resume(model: Any, state: Any) -> Query:
    query: Query = model.query(state=state)
    return query
