"""Query on a Bayes tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream._native import BayesQuery
from anystream.estimators.native_query import BytesQuery


class BayesTreeQuery(BytesQuery):
    """One record and the frontier of entries that represents each class for it; a step reads a node."""

    __slots__ = ()
    _native: BayesQuery

    @property
    def proba_bounds(self) -> NDArray[np.float64]:
        """Bounds on the probabilities of the exhausted query: a row (minimum, maximum) per class of `classes_`.

        With ``refine_for="accuracy"`` no bounds are computed; every row is then (0, 1).
        """
        return self._native.proba_bounds().reshape(-1, 2)

    @property
    def frontier(self) -> list[tuple[int, int, float]]:
        """The entries that represent the classes now: class number, node (-1: kernel of a record), log2 of n_e g(x)."""
        return self._native.frontier()

    @property
    def record(self) -> NDArray[np.float64]:
        """The record in the space of the trees: mapped by the metric, then standardised."""
        return self._native.record()
