"""From training data to ordered exemplars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anystream._native import Counter, StopToken
from anystream.neighbors.callable_exemplars import CallableExemplars, all_distances, measured, order_objects
from anystream.neighbors.exemplars import Exemplars, build_exemplars, order_rows
from anystream.neighbors.orderings import OrderingTask, ordering_named
from anystream.neighbors.trimming import share_to_keep

if TYPE_CHECKING:
    from anystream.neighbors.classifier import AnytimeNeighborsClassifier

Labels = NDArray[np.int32]
Places = NDArray[np.int64]


def head_size(n_exemplars: int) -> int:
    """How many exemplars are prototypes of the inverted search: as many as keep lists and prototypes in balance."""
    return max(1, round(2 * math.sqrt(n_exemplars)))


class _Source:
    """Training data of a named metric: rows of the fitted distance."""

    def __init__(
        self, model: AnytimeNeighborsClassifier, points: Any, labels: Labels, n_classes: int, scale_of: Any
    ) -> None:
        self.model, self.labels, self.n_classes = model, labels, n_classes
        self.distance = model._new_distance()
        self.distance.fit(points if scale_of is None else scale_of)
        self.rows = self.distance.transform(points)

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

    def build(self, order: Places) -> Exemplars:
        model = self.model
        return build_exemplars(
            self.distance,
            self.rows,
            self.labels,
            order,
            np.arange(len(self.labels), dtype=np.int64),
            self.n_classes,
            capacity=model._capacity(),
            head=head_size(len(order)) if model.search == "inverted" else 0,
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

    def __init__(
        self, model: AnytimeNeighborsClassifier, objects: Sequence[Any], labels: Labels, n_classes: int
    ) -> None:
        self.model, self.labels, self.n_classes, self.objects = model, labels, n_classes, list(objects)
        self._distances: NDArray[np.float64] | None = None
        measured(model.metric, self.objects[0], self.objects[-1])  # a metric that is none is found at once

    def order(self, places: Places, name: str, done: Counter, stop: StopToken) -> Places:
        if self._distances is None:
            self._distances = all_distances(self.model.metric, self.objects)
        part = np.ascontiguousarray(self._distances[np.ix_(places, places)])
        return order_objects(
            part, self.labels[places], self.n_classes, name, threads=1, seed=self.model.seed, done=done, stop=stop
        )

    def build(self, order: Places) -> CallableExemplars:
        places = order.tolist()
        return CallableExemplars(
            self.model.metric,
            [self.objects[i] for i in places],
            self.labels[order].tolist(),
            places,
            self.n_classes,
            self.model._capacity(),
        )

    def right(self, exemplars: CallableExemplars, held: Places, stages: Places) -> NDArray[np.bool_]:
        """Whether held-out objects are right after each stage."""
        out = exemplars.staged([self.objects[i] for i in held], self.model.k, stages, 1)
        is_right: NDArray[np.bool_] = out.argmax(axis=2) == self.labels[held][:, np.newaxis]
        return is_right


def fit_exemplars(
    model: AnytimeNeighborsClassifier,
    points: Any,
    labels: Labels,
    n_classes: int,
    *,
    one_by_one: bool = False,
    scale_of: Any = None,
) -> Any:
    """Order the training data and build the exemplars.

    Parameters
    ----------
    model : AnytimeNeighborsClassifier
        Whose parameters hold.
    points, labels, n_classes
        The training data; labels are class numbers.
    one_by_one : bool
        Whether more records follow, one by one: then the order is that of arrival.
    scale_of : optional
        The records from which the distance learns; default: all of them.
    """
    capacity = model._capacity()
    if capacity and len(labels) > capacity:  # the oldest are forgotten before any work
        points, labels = points[-capacity:], labels[-capacity:]
    source: Any
    if callable(model.metric):
        source = _ObjectSource(model, points, labels, n_classes)
    else:
        source = _Source(model, points, labels, n_classes, scale_of)
    everything = np.arange(len(labels), dtype=np.int64)
    if one_by_one:
        return source.build(everything)
    order = _order(source, everything)
    if model.trim == "auto":
        share = share_to_keep(labels, lambda train, held, shares: _judge(source, train, held, shares), model.seed)
        order = order[: max(1, round(share * len(order)))]
    return source.build(order)


def merged(
    whole: AnytimeNeighborsClassifier,
    models: Sequence[AnytimeNeighborsClassifier],
    class_maps: Sequence[NDArray[np.int32]],
    n_classes: int,
) -> Any:
    """The exemplars of all models, their orders interleaved by the share of each order that lies before them."""
    stored = [model.exemplars_.stored() for model in models]
    labels = np.concatenate([to[numbers] for (_, numbers, _), to in zip(stored, class_maps, strict=True)])
    serials, begin = [], 0
    for _, _, own in stored:
        serials.append(own + begin)
        begin += int(own.max(initial=-1)) + 1
    share = np.concatenate([np.arange(len(own)) / max(1, len(own)) for _, _, own in stored])
    order = np.argsort(share, kind="stable")
    first = models[0].exemplars_
    if isinstance(first, CallableExemplars):
        objects = [each for rows, _, _ in stored for each in rows]
        return CallableExemplars(
            first.metric,
            [objects[i] for i in order],
            labels[order].tolist(),
            np.concatenate(serials)[order].tolist(),
            n_classes,
            first.capacity,
        )
    learned = first.distance.learned
    for model in models[1:]:
        other = model.exemplars_.distance.learned
        if learned.keys() != other.keys() or not all(np.array_equal(learned[name], other[name]) for name in learned):
            raise ValueError(
                "the models measure differently (scale, covariance or ranges were learned from their own data); scale the "
                "data before and fit with scaling=None, or give the same metric_params"
            )
    texts = first.distance.records == "texts"
    rows = (
        [each for part, _, _ in stored for each in part] if texts else np.concatenate([part for part, _, _ in stored])
    )
    return build_exemplars(
        first.distance,
        rows,
        labels.astype(np.int32),
        order,
        np.concatenate(serials),
        n_classes,
        capacity=first.gallery.capacity,
        head=head_size(len(order)) if whole.search == "inverted" else 0,
        threads=whole._threads(),
    )


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
    return right.mean(axis=0)


def _judge(source: Any, train: Places, held: Places, shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    order = _order(source, train)
    kept = [order[: max(1, round(share * len(order)))] for share in shares]
    unlimited = np.array([len(order)], dtype=np.int64)
    return np.hstack([source.right(source.build(part), held, unlimited) for part in kept])
