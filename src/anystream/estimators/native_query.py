"""Query whose steps are taken by the native core."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from anystream._native import Calibration, StopToken
from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.query import Query


class NativeState(Protocol):
    """Native query of any model."""

    @property
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def certified(self) -> bool:
        """Whether no further step could change the label."""

    @property
    def exhausted(self) -> bool:
        """Whether no step is left."""

    def refine(self, steps: int = -1, nanoseconds: int = -1, stop: StopToken | None = None) -> int:
        """Take steps within the limits (-1: none); return their number."""

    def label(self) -> int:
        """Return the number of the most probable class."""

    def proba(self, calibration: Calibration | None = None) -> NDArray[np.float64]:
        """Return the probabilities of the classes, calibrated or raw."""


class NativeQuery(Query):
    """One record and its native query; a subclass adds `state` and what the model offers beside it.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        The labels when the query is opened; the model may learn further ones or be fitted again.
    native : NativeState
        The query in the native core.
    calibration : Calibration, optional
        How its probabilities are calibrated.
    """

    __slots__ = ("_calibration", "_classes", "_native")

    def __init__(self, classes: NDArray[Any], native: Any, calibration: Calibration | None = None) -> None:
        self._classes = classes
        self._native = native
        self._calibration = calibration

    def refine(self, budget: BudgetLike = None) -> Self:
        """Take steps within `budget` (None: until nothing is left to do); return the query itself."""
        if type(budget) is int and budget >= 0:
            self._native.refine(budget)
        else:
            self._native.refine(*Budget.of(budget).limits())
        return self

    @property
    def label(self) -> Any:
        """The most probable class so far."""
        return self._classes[self._native.label()]

    @property
    def proba(self) -> NDArray[np.float64]:
        """Probabilities of the classes so far, in the order of the classifier's `classes_`."""
        proba: NDArray[np.float64] = self._native.proba(self._calibration)
        return proba

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return int(self._native.steps)

    @property
    def certified(self) -> bool:
        """Whether no further step could change the label."""
        return bool(self._native.certified)

    @property
    def exhausted(self) -> bool:
        """Whether no step is left."""
        return bool(self._native.exhausted)


class BytesQuery(NativeQuery):
    """Native query whose state is bytes."""

    __slots__ = ()

    @property
    def state(self) -> bytes:
        """The state of the query as bytes."""
        state: bytes = self._native.state()
        return state


def check_bytes_state(state: object) -> bytes:
    """Return the state of a `BytesQuery`; TypeError if it is of another type."""
    if not isinstance(state, bytes):
        raise TypeError(f"state is a {type(state).__name__}; use the `state` of a query of this model")
    return state
