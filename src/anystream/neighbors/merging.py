"""Merging the exemplars of several models into one order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.neighbors.callable_exemplars import CallableExemplars
from anystream.neighbors.distances import Distance
from anystream.neighbors.exemplars import Exemplars, StoredExemplars
from anystream.neighbors.recipe import NeighborsRecipe
from anystream.neighbors.training_set import AnyExemplars


def merge_exemplars(
    recipe: NeighborsRecipe,
    parts: Sequence[AnyExemplars],
    class_maps: Sequence[NDArray[np.int32]],
    n_classes: int,
    threads: int,
) -> AnyExemplars:
    """Return the exemplars of all parts, their orders interleaved: an exemplar early in its part is early in the whole.

    Parameters
    ----------
    recipe : NeighborsRecipe
        The parameters.
    parts : sequence of Exemplars or of CallableExemplars
        The exemplars of each model; the capacity of the first bounds the whole.
    class_maps : sequence of array
        ``class_maps[i][c]`` is the number of class c of part i.
    n_classes : int
        Number of classes of the whole.
    threads : int
        Threads for native work; 0 for one per core.
    """
    first = parts[0]
    stored = [part.export() for part in parts]
    labels = np.concatenate([numbers[part.labels] for part, numbers in zip(stored, class_maps, strict=True)])
    serials = _merge_serials([part.serials for part in stored], by_age=first.capacity > 0)
    position = np.concatenate([np.arange(len(part.labels)) / max(1, len(part.labels)) for part in stored])
    order = np.argsort(position, kind="stable")
    if first.capacity:
        order = order[serials[order] >= len(serials) - first.capacity]
    if isinstance(first, CallableExemplars):
        records: Any = [record for part in stored for record in part.records]
        whole = StoredExemplars(records, labels, serials)
        return CallableExemplars.build(first.metric, whole, order, n_classes, capacity=first.capacity)
    distances = [part.distance for part in parts if isinstance(part, Exemplars)]
    distance, records = _merge_encoded(recipe, distances, [part.records for part in stored])
    return Exemplars.build(
        distance,
        StoredExemplars(records, labels.astype(np.int32), serials),
        order,
        n_classes,
        capacity=first.capacity,
        lists=recipe.inverted,
        threads=threads,
    )


def _merge_serials(serials: Sequence[NDArray[np.int64]], *, by_age: bool) -> NDArray[np.int64]:
    """Return new serials: one part after the other, or by age within each part if the oldest are evicted."""
    if by_age:
        age = np.concatenate([np.argsort(np.argsort(own)) / max(1, len(own)) for own in serials])
        return np.argsort(np.argsort(age, kind="stable"), kind="stable")
    starts = np.cumsum([0] + [int(own.max(initial=-1)) + 1 for own in serials])
    return np.concatenate([own + start for own, start in zip(serials, starts[:-1], strict=True)])


def _merge_encoded(
    recipe: NeighborsRecipe, distances: Sequence[Distance], encoded: Sequence[Any]
) -> tuple[Distance, Any]:
    """Return all records under one distance: that of all parts, or one fitted on all records if the parts' differ."""
    first = distances[0]
    if first.record_type == "texts":
        return first, [text for part in encoded for text in part]
    for other in distances[1:]:
        if not all(np.array_equal(first.learned[name], other.learned[name]) for name in first.learned):
            decoded = [own.inverse_transform(part) for own, part in zip(distances, encoded, strict=True)]
            distance = recipe.new_distance()
            return distance, distance.fit(np.concatenate(decoded))
    return first, np.concatenate(encoded)
