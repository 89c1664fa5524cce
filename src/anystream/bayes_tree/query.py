"""A query on a Bayes tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.query import Query

if TYPE_CHECKING:
    from anystream._native import BayesQuery
    from anystream.bayes_tree.classifier import BayesTreeClassifier


class BayesTreeQuery(Query):
    """One record and the frontier of entries that represents each class for it."""

    __slots__ = ("_model", "_native")

    def __init__(self, model: BayesTreeClassifier, native: BayesQuery) -> None:
        self._model = model
        self._native = native

    def refine(self, budget: BudgetLike = None) -> Self:
        """Refine frontiers while `budget` lasts (None: to the leaves); return the query itself."""
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
        """Refinements so far: nodes read."""
        return self._native.steps

    @property
    def certified(self) -> bool:
        """Whether no further refinement could change the label."""
        return self._native.certified

    @property
    def proba_bounds(self) -> NDArray[np.float64]:
        """Bounds on the probabilities of the exhausted query: a row (least, most) per class of `classes_`.

        They hold with ``refine_for="certificate"``; other queries keep no bounds and say 0 and 1.
        """
        return self._native.proba_bounds().reshape(-1, 2)

    @property
    def exhausted(self) -> bool:
        """Whether every frontier has reached the leaves."""
        return self._native.exhausted

    @property
    def frontier(self) -> list[tuple[int, int, float]]:
        """The entries that now stand for the classes: class number, node (-1: an object), log2 of n_e g(x)."""
        return self._native.frontier()

    @property
    def record(self) -> NDArray[np.float64]:
        """The record as the trees see it: in the learned space, standardised."""
        return self._native.record()

    @property
    def state(self) -> bytes:
        """The frontiers, as bytes."""
        return self._native.state()

    def __reduce__(self) -> tuple[Any, ...]:
        return _resumed, (self._model, self.state)


def _resumed(model: BayesTreeClassifier, state: bytes) -> Query:
    return model.query(state=state)
