"""From training data to ordered exemplars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anystream._native import Counter, StopToken
from anystream.anytime.profile import PerformanceProfile
from anystream.neighbors.callable_exemplars import CallableExemplars, all_distances, measured, order_objects
from anystream.neighbors.distances import Distance
from anystream.neighbors.exemplars import Exemplars, build_exemplars, order_rows
from anystream.neighbors.orderings import OrderingTask, ordering_named
from anystream.neighbors.parameters import capacity
from anystream.neighbors.profile import doubling_stages
from anystream.neighbors.trimming import share_to_keep

if TYPE_CHECKING:
    from anystream.neighbors.classifier import AnytimeNeighborsClassifier

AnyExemplars = Exemplars | CallableExemplars
Labels = NDArray[np.int32]
Places = NDArray[np.int64]


LEAST_REORDERED = 64
MOST_REORDERED = {"vectors": 1024, "series": 256, "texts": 256}
"""Exemplars that partial_fit may order anew: a few milliseconds of work at most."""


class _Source:
    """Training data of a named metric: rows of a fitted distance."""

    def __init__(
        self,
        model: AnytimeNeighborsClassifier,
        distance: Distance,
        rows: Any,
        labels: Labels,
        serials: Places,
        n_classes: int,
    ) -> None:
        self.model, self.distance, self.rows = model, distance, rows
        self.labels, self.serials, self.n_classes = labels, serials, n_classes

    def part(self, places: Places) -> Any:
        return [self.rows[i] for i in places] if self.distance.records == "texts" else self.rows[places]

    def order(self, places: Places, name: str, done: Counter, stop: StopToken) -> Places:
        model = self.model
        return order_rows(
            self.distance,
            self.part(places),
            self.labels[places],
            self.n_classes,
            name,
            threads=model._threads(),
            seed=model.seed,
            done=done,
            stop=stop,
        )

    def build(self, order: Places, *, plain: bool = False) -> Exemplars:
        """Exemplars as the model wants them, or without lists."""
        model = self.model
        return build_exemplars(
            self.distance,
            self.rows,
            self.labels,
            order,
            self.serials,
            self.n_classes,
            capacity=capacity(model),
            lists=model.search == "inverted" and not plain,
            threads=model._threads(),
        )

    def right(self, exemplars: Exemplars, held: Places, stages: Places) -> NDArray[np.bool_]:
        """Whether held-out records are right after each stage."""
        values, first = self.distance.pack(self.part(held))
        out = np.empty((len(held), len(stages), self.n_classes))
        exemplars.gallery.answer_in_stages(values, first, self.model.k, stages, self.model._threads(), out.reshape(-1))
        is_right: NDArray[np.bool_] = out.argmax(axis=2) == self.labels[held][:, np.newaxis]
        return is_right


class _ObjectSource:
    """Training data of a Python metric: objects, and their distances once an ordering needs them."""

    def __init__(self, model: AnytimeNeighborsClassifier, objects: list[Any], labels: Labels, n_classes: int) -> None:
        self.model, self.labels, self.n_classes, self.objects = model, labels, n_classes, objects
        self._distances: NDArray[np.float64] | None = None
        measured(model.metric, self.objects[0], self.objects[-1])  # a metric that is none is found at once

    def order(self, places: Places, name: str, done: Counter, stop: StopToken) -> Places:
        if self._distances is None:
            self._distances = all_distances(self.model.metric, self.objects)
        part = np.ascontiguousarray(self._distances[np.ix_(places, places)])
        return order_objects(
            part, self.labels[places], self.n_classes, name, threads=1, seed=self.model.seed, done=done, stop=stop
        )

    def build(self, order: Places, *, plain: bool = True) -> CallableExemplars:
        """Exemplars; they never have lists."""
        places = order.tolist()
        return CallableExemplars(
            self.model.metric,
            [self.objects[i] for i in places],
            self.labels[order].tolist(),
            places,
            self.n_classes,
            capacity(self.model),
        )

    def right(self, exemplars: CallableExemplars, held: Places, stages: Places) -> NDArray[np.bool_]:
        """Whether held-out objects are right after each stage."""
        out = exemplars.staged([self.objects[i] for i in held], self.model.k, stages, 1)
        is_right: NDArray[np.bool_] = out.argmax(axis=2) == self.labels[held][:, np.newaxis]
        return is_right


def fit_exemplars(
    model: AnytimeNeighborsClassifier, points: Any, labels: Labels, n_classes: int
) -> tuple[AnyExemplars, PerformanceProfile | None]:
    """Order the training data and build the exemplars; with them, how those fare that trimming dropped.

    Parameters
    ----------
    model : AnytimeNeighborsClassifier
        Whose parameters hold.
    points, labels, n_classes
        The training data; labels are class numbers.
    """
    most = capacity(model)
    if most and len(labels) > most:  # the oldest are forgotten before any work
        points, labels = points[-most:], labels[-most:]
    source: Any = _source(model, points, labels, n_classes)
    order = _order(source, np.arange(len(labels), dtype=np.int64))
    if model.trim is None:
        return source.build(order), None
    share = share_to_keep(labels, lambda train, held, shares: _judge(source, train, held, shares), model.seed)
    order, setup = _one_of_each_class_first(order, labels)
    kept = max(setup, round(share * len(order)))
    exemplars = source.build(order[:kept])
    if kept == len(order):
        return exemplars, None
    stages = doubling_stages(kept)
    right = source.right(exemplars, order[kept:], stages)
    return exemplars, PerformanceProfile(stages, right.mean(axis=0), len(right))


def first_exemplar(model: AnytimeNeighborsClassifier, points: Any, labels: Labels, n_classes: int) -> AnyExemplars:
    """One record to begin with; others are inserted one by one."""
    return _source(model, points, labels, n_classes).build(np.arange(len(labels), dtype=np.int64))


def learn(model: AnytimeNeighborsClassifier, exemplars: AnyExemplars, points: Any, labels: Labels) -> None:
    """Insert records one by one. While they are few, they are ordered anew whenever their number has doubled."""
    if isinstance(exemplars, CallableExemplars):
        exemplars.insert(points, labels)
        return
    rows = exemplars.distance.transform(points)  # whatever is wrong with a record shows before anything changes
    most = MOST_REORDERED[exemplars.distance.records]
    begin = 0
    while begin < len(labels):
        size = len(exemplars)
        doubled = max(LEAST_REORDERED, 2 ** size.bit_length())
        end = len(labels) if doubled > most else min(len(labels), begin + doubled - size)
        exemplars.insert(rows[begin:end], labels[begin:end])
        if len(exemplars) == doubled <= most:
            stored, numbers, serials = exemplars.stored()
            source = _Source(model, exemplars.distance, stored, numbers, serials, exemplars.gallery.classes)
            exemplars.gallery = source.build(_order(source, np.arange(doubled, dtype=np.int64))).gallery
        begin = end


def merged(
    whole: AnytimeNeighborsClassifier,
    models: Sequence[AnytimeNeighborsClassifier],
    class_maps: Sequence[NDArray[np.int32]],
    n_classes: int,
) -> AnyExemplars:
    """The exemplars of all models, their orders interleaved by the share of each order that lies before them."""
    stored = [model.exemplars_.stored() for model in models]
    labels = np.concatenate([to[numbers] for (_, numbers, _), to in zip(stored, class_maps, strict=True)])
    first = models[0].exemplars_
    serials = _merged_serials([own for _, _, own in stored], first.capacity > 0)
    share = np.concatenate([np.arange(len(own)) / max(1, len(own)) for _, _, own in stored])
    order = np.argsort(share, kind="stable")
    if first.capacity:
        order = order[serials[order] >= len(serials) - first.capacity]
    if isinstance(first, CallableExemplars):
        objects = [each for rows, _, _ in stored for each in rows]
        return CallableExemplars(
            first.metric,
            [objects[i] for i in order],
            labels[order].tolist(),
            serials[order].tolist(),
            n_classes,
            first.capacity,
        )
    distances = [model.exemplars_.distance for model in models if isinstance(model.exemplars_, Exemplars)]
    distance, rows = _merged_rows(whole, distances, [part for part, _, _ in stored])
    return build_exemplars(
        distance,
        rows,
        labels.astype(np.int32),
        order,
        serials,
        n_classes,
        capacity=first.capacity,
        lists=whole.search == "inverted",
        threads=whole._threads(),
    )


def _merged_serials(serials: list[Places], by_age: bool) -> Places:
    """Serials of all exemplars: one model's after the other's, or by age within each model where the oldest leave."""
    if by_age:
        age = np.concatenate([np.argsort(np.argsort(own)) / max(1, len(own)) for own in serials])
        return np.argsort(np.argsort(age, kind="stable"), kind="stable")
    begins = np.cumsum([0] + [int(own.max(initial=-1)) + 1 for own in serials])
    return np.concatenate([own + begin for own, begin in zip(serials, begins[:-1], strict=True)])


def _merged_rows(whole: AnytimeNeighborsClassifier, distances: list[Distance], rows: list[Any]) -> tuple[Distance, Any]:
    """All rows under one distance: the models' own, or one that learns anew from all records if theirs differ."""
    first = distances[0]
    if first.records == "texts":
        return first, [text for part in rows for text in part]
    for other in distances[1:]:
        if not all(np.array_equal(first.learned[name], other.learned[name]) for name in first.learned):
            points = np.concatenate([one.restore(part) for one, part in zip(distances, rows, strict=True)])
            anew = whole._new_distance()
            return anew, anew.fit(points)
    return first, np.concatenate(rows)


def _source(model: AnytimeNeighborsClassifier, points: Any, labels: Labels, n_classes: int) -> _Source | _ObjectSource:
    if callable(model.metric):
        return _ObjectSource(model, points, labels, n_classes)
    distance = model._new_distance()
    rows = distance.fit(points)
    return _Source(model, distance, rows, labels, np.arange(len(labels), dtype=np.int64), n_classes)


def _order(source: Any, places: Places) -> Places:
    """The chosen ordering of some of the training data, as places in all of it."""
    model = source.model
    task = OrderingTask(
        labels=source.labels[places],
        n_classes=source.n_classes,
        seed=model.seed,
        native=lambda name, done, stop: source.order(places, name, done, stop),
        accuracy_curve=lambda order: _leave_one_out(source, places[order]),
    )
    return places[ordering_named(model.ordering)(task)]


def _leave_one_out(source: Any, order: Places) -> NDArray[np.float64]:
    doubling = [2**i for i in range(max(1, len(order).bit_length()))]
    exemplars = source.build(order)
    right: NDArray[np.bool_] = exemplars.leave_one_out(1, np.array(doubling, dtype=np.int64), source.model._threads())
    return np.asarray(right.mean(axis=0))


def _judge(source: Any, train: Places, held: Places, shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether held-out records are right when the order of the training places ends at each share."""
    order, setup = _one_of_each_class_first(_order(source, train), source.labels)
    stages = np.maximum(0, np.round(shares * len(order)).astype(np.int64) - setup)
    right: NDArray[np.bool_] = source.right(source.build(order, plain=True), held, stages)
    return right


def _one_of_each_class_first(order: Places, labels: Labels) -> tuple[Places, int]:
    """The order in which queries see exemplars, and how many they see at once."""
    front = np.sort(np.unique(labels[order], return_index=True)[1])
    return np.concatenate([order[front], np.delete(order, front)]), len(front)
