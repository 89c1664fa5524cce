"""A query among exemplars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anystream.anytime.native_query import NativeQuery

if TYPE_CHECKING:
    from anystream.neighbors.classifier import AnytimeNeighborsClassifier
    from anystream.neighbors.exemplars import ExemplarQuery


class NeighborsQuery(NativeQuery):
    """One record and the nearest exemplar so far; a step compares one, beyond the first of each class."""

    __slots__ = ("_record", "_user_distance")
    _native: ExemplarQuery

    def __init__(self, model: AnytimeNeighborsClassifier, record: Any, native: ExemplarQuery) -> None:
        super().__init__(model, native)
        self._record = record
        self._user_distance = model.exemplars_.user_distance

    @property
    def nearest(self) -> list[tuple[int, float]]:
        """The nearest exemplars so far: the row of the training data, counted over all learning, and its distance."""
        return [(serial, self._user_distance(distance)) for serial, distance in self._native.nearest()]

    @property
    def state(self) -> tuple[Any, ...]:
        """The record, and the paper's three numbers: the best so far, its distance, and the position in the order.

        The best is the place of an exemplar, which names its class and keeps ties decided by the lowest row of the
        training data. With ``k > 1`` the places and distances of all voters stand there instead, and with
        ``search="inverted"`` also where the query is among the lists. The numbers belong to the model as it was when
        the query began: learning moves exemplars.
        """
        return (self._record, self._native.state())
