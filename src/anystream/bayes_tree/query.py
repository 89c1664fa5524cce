"""A query on a Bayes tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream._native import BayesQuery
from anystream.anytime.native_query import NativeQuery


class BayesTreeQuery(NativeQuery):
    """One record and the frontier of entries that represents each class for it; a step reads a node."""

    __slots__ = ()
    _native: BayesQuery

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
