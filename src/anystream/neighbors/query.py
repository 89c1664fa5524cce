"""A query among exemplars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.query import Query

if TYPE_CHECKING:
    from anystream.neighbors.classifier import AnytimeNeighborsClassifier
    from anystream.neighbors.exemplars import OpenQuery


class NeighborsQuery(Query):
    """One record and the nearest exemplar so far."""

    __slots__ = ("_classes", "_model", "_native", "_record", "_user_distance")

    def __init__(self, model: AnytimeNeighborsClassifier, record: Any, native: OpenQuery) -> None:
        self._model = model
        self._record = record
        self._native = native
        self._classes = model.classes_  # as they were: the model may be fitted anew
        self._user_distance = model.exemplars_.user_distance

    def refine(self, budget: BudgetLike = None) -> Self:
        """Compare exemplars while `budget` lasts (None: all that can matter); return the query itself."""
        if type(budget) is int and budget >= 0:
            self._native.refine(budget)
        else:
            self._native.refine(*Budget.of(budget).limits())
        return self

    @property
    def label(self) -> Any:
        """The class of the nearest exemplar so far, or of most of the `k` nearest."""
        return self._classes[self._native.label()]

    @property
    def proba(self) -> NDArray[np.float64]:
        """Shares of the votes of the nearest so far, in the order of the classifier's `classes_`."""
        return self._native.proba()

    @property
    def nearest(self) -> list[tuple[int, float]]:
        """The nearest exemplars so far: the row of the training data, counted over all learning, and its distance."""
        return [(serial, self._user_distance(distance)) for serial, distance in self._native.nearest()]

    @property
    def steps(self) -> int:
        """Exemplars compared so far, beyond the first of each class."""
        return self._native.steps

    @property
    def certified(self) -> bool:
        """Whether no further exemplar could change the label."""
        return self._native.exhausted

    @property
    def exhausted(self) -> bool:
        """Whether no further exemplar is worth a comparison."""
        return self._native.exhausted

    @property
    def state(self) -> tuple[Any, ...]:
        """The record, and the paper's three numbers: the best so far, its distance, and the position in the order.

        The best is the place of an exemplar, which names its class and keeps ties decided by the lowest row of the
        training data. With ``k > 1`` the places and distances of all voters stand there instead, and with
        ``search="inverted"`` also where the query is among the lists. The numbers belong to the model as it was when
        the query began: learning moves exemplars.
        """
        return (self._record, self._native.state())

    def __reduce__(self) -> tuple[Any, ...]:
        return _resumed, (self._model, self.state)


def _resumed(model: AnytimeNeighborsClassifier, state: tuple[Any, ...]) -> Query:
    return model.query(state=state)
