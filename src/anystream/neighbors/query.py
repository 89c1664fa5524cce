"""Query of a record among exemplars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from anystream._native import Calibration
from anystream.estimators.native_query import NativeQuery
from anystream.neighbors.exemplars import ExemplarQuery


class NeighborsQuery(NativeQuery):
    """One record and the nearest exemplars so far; a step compares one exemplar, beyond the first of each class.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        Class labels.
    native : ExemplarQuery
        The query in the native core, or in Python for a Python metric.
    record : array, str or object
        The record.
    to_user_distance : callable
        Returns the distance of two records from the native distance of their encoded forms.
    calibration : Calibration, optional
        How its probabilities are calibrated.
    """

    __slots__ = ("_record", "_to_user_distance")
    _native: ExemplarQuery

    def __init__(
        self,
        classes: NDArray[Any],
        native: ExemplarQuery,
        record: Any,
        to_user_distance: Callable[[float], float],
        calibration: Calibration | None = None,
    ) -> None:
        super().__init__(classes, native, calibration)
        self._record = record
        self._to_user_distance = to_user_distance

    @property
    def nearest(self) -> list[tuple[int, float]]:
        """The nearest exemplars so far: the row of the training data, counted over all learning, and its distance."""
        return [(serial, self._to_user_distance(distance)) for serial, distance in self._native.nearest()]

    @property
    def state(self) -> tuple[Any, ...]:
        """The record, and the paper's three numbers: the best so far, its distance, and the position in the order.

        The best is the position of an exemplar, which determines its class; ties are decided by the lowest row of the
        training data after resuming too. With ``k > 1`` the positions and distances of all voters are there instead,
        and with ``search="inverted"`` also the position of the query in the lists. The numbers refer to the model as
        it was when the query was opened: learning moves exemplars.
        """
        return (self._record, self._native.state())
