"""Exemplars that are any objects, under a distance that is any Python callable.

Every comparison is a call into Python, so this is as fast as the callable, on one core. The order of visits is the
native one, computed from all distances of pairs; answers keep the same contract as those of the native core.
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from bisect import insort
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream._native import Counter, StopToken
from anystream.anytime.budget import Budget
from anystream.neighbors.exemplars import Answers

Measure = Callable[[Any, Any], float]

MOST_ORDERED = 20_000
"""Objects that can be ordered: their distances take 8 n^2 bytes."""
MANY = 500


def measured(metric: Measure, x: Any, exemplar: Any) -> float:
    """The distance, if it is one."""
    given = metric(x, exemplar)
    try:
        value = float(given)
    except (TypeError, ValueError):
        raise ValueError(f"the metric returned {given!r} for two objects; a distance is a number") from None
    if math.isnan(value) or value < 0:
        raise ValueError(f"the metric returned {value} for two objects; a distance is 0 or more")
    return value


def all_distances(metric: Measure, objects: Sequence[Any]) -> NDArray[np.float64]:
    """The distances of all pairs, each computed once: the metric is taken to be symmetric."""
    n = len(objects)
    if n > MOST_ORDERED:
        raise ValueError(f"{n} objects are too many to be ordered by a Python metric; use ordering='random'")
    if n > MANY:
        warnings.warn(
            f"ordering {n} objects calls the metric {n * (n - 1) // 2} times, in Python; a named metric is far faster, "
            "and ordering='random' needs no calls",
            stacklevel=2,
        )
    distances = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            distances[i, j] = distances[j, i] = measured(metric, objects[i], objects[j])
    return distances


class CallableExemplars:
    """Objects in the order of visits.

    Learning puts a new object at the end of the order, and one of a new class in front; the oldest leaves when there is
    no room. Changes make a new list, so that open queries keep theirs.
    """

    def __init__(
        self,
        metric: Measure,
        objects: list[Any],
        labels: list[int],
        serials: list[int],
        n_classes: int,
        capacity: int,
    ) -> None:
        self.metric = metric
        self.n_classes = n_classes
        self.capacity = capacity
        seen: set[int] = set()
        front: list[int] = []
        rest: list[int] = []
        for i, label in enumerate(labels):
            (rest if label in seen else front).append(i)
            seen.add(label)
        order = front + rest
        self.setup = len(front)
        self.objects = [objects[i] for i in order]
        self.labels = [labels[i] for i in order]
        self.serials = [serials[i] for i in order]

    def __len__(self) -> int:
        return len(self.objects)

    def answer(self, queries: Sequence[Any], k: int, budget: Budget, threads: int) -> Answers:
        """Shares of votes, steps and certificates; under a deadline all records advance in rounds."""
        opened = [self.open(x, k) for x in queries]
        steps, nanoseconds, stop = budget.limits()
        most = math.inf if steps < 0 else steps
        end = math.inf if nanoseconds < 0 else time.monotonic() + nanoseconds / 1e9
        going = list(opened)
        while going and not (stop is not None and stop.is_set()) and time.monotonic() < end:
            share = 1 if budget.timed else -1 if steps < 0 else steps
            for query in going:
                if time.monotonic() >= end or (stop is not None and stop.is_set()):
                    break
                query.refine(share)
            going = [query for query in going if not query.exhausted and query.steps < most]
        proba = np.array([query.proba() for query in opened]).reshape(len(opened), self.n_classes)
        return (
            proba,
            np.array([query.steps for query in opened], dtype=np.int64),
            np.array([query.exhausted for query in opened], dtype=np.bool_),
        )

    def staged(self, queries: Sequence[Any], k: int, stages: NDArray[np.int64], threads: int) -> NDArray[np.float64]:
        """Shares of votes after each stage: (records, stages, classes)."""
        out = np.empty((len(queries), len(stages), self.n_classes))
        for i, x in enumerate(queries):
            query = self.open(x, k)
            for s, stage in enumerate(stages.tolist()):
                query.refine(stage - query.steps)
                out[i, s] = query.proba()
        return out

    def open(self, record: Any, k: int) -> CallableQuery:
        """A query at budget 0."""
        return CallableQuery(self, record, k)

    def resume(self, record: Any, k: int, state: tuple[Any, ...]) -> CallableQuery:
        """A query that was suspended."""
        return CallableQuery(self, record, k, state)

    def label_one(self, record: Any, k: int, steps: int) -> int:
        """The class number of one record."""
        query = self.open(record, k)
        query.refine(steps)
        return query.label()

    def proba_one(self, record: Any, k: int, steps: int) -> list[float]:
        """The shares of votes of one record."""
        query = self.open(record, k)
        query.refine(steps)
        return [float(share) for share in query.proba()]

    def leave_one_out(self, k: int, stages: NDArray[np.int64], threads: int) -> NDArray[np.bool_]:
        """Whether each object, left out of its own query, is right after each stage: (exemplars, stages)."""
        right = np.empty((len(self), len(stages)), dtype=np.bool_)
        for i, label in enumerate(self.labels):
            query = CallableQuery(self, self.objects[i], k, left_out=i)
            for s, stage in enumerate(stages.tolist()):
                query.refine(stage - query.steps)
                right[i, s] = query.label() == label
        return right

    def user_distance(self, native: float) -> float:
        """What the metric returned."""
        return native

    def insert(self, records: Sequence[Any], labels: NDArray[np.int32]) -> None:
        """Learn objects one by one."""
        for record in records:
            if self.objects:
                measured(self.metric, record, self.objects[0])  # before anything changes
        for record, label in zip(records, labels.tolist(), strict=True):
            serial = max(self.serials, default=-1) + 1
            new = CallableExemplars(
                self.metric,
                [*self.objects, record],
                [*self.labels, label],
                [*self.serials, serial],
                max(self.n_classes, label + 1),
                self.capacity,
            )
            if self.capacity and len(new) > self.capacity:
                new = new._without(new.serials.index(min(new.serials)))
            vars(self).update(vars(new))

    def _without(self, place: int) -> CallableExemplars:
        keep = [i for i in range(len(self)) if i != place]
        return CallableExemplars(
            self.metric,
            [self.objects[i] for i in keep],
            [self.labels[i] for i in keep],
            [self.serials[i] for i in keep],
            self.n_classes,
            self.capacity,
        )

    def declare_classes(self, n_classes: int) -> None:
        """Make room for classes without exemplars."""
        self.n_classes = max(self.n_classes, n_classes)

    def widen(self, n_features: int) -> None:
        """Objects have no features."""
        raise ValueError("objects under a Python metric cannot grow new features; fit a new model")

    def snapshot(self) -> CallableExemplars:
        """The exemplars as they are now: learning makes other lists, so these can be shared."""
        return copy.copy(self)

    @property
    def own_bytes(self) -> int:
        """Bytes of the lists; what the objects hold themselves is not known."""
        return 8 * (len(self.objects) + len(self.labels) + len(self.serials))

    def stored(self) -> tuple[list[Any], NDArray[np.int32], NDArray[np.int64]]:
        """Objects, class numbers and serials, in the order of visits."""
        return list(self.objects), np.array(self.labels, dtype=np.int32), np.array(self.serials, dtype=np.int64)


class CallableQuery:
    """One object on its way through the exemplars."""

    def __init__(
        self, owner: CallableExemplars, record: Any, k: int, state: tuple[Any, ...] | None = None, left_out: int = -1
    ) -> None:
        self._metric, self._record, self._k = owner.metric, record, k
        self._objects, self._labels, self._serials = owner.objects, owner.labels, owner.serials
        self._n_classes, self._left_out = owner.n_classes, left_out
        self._nearest: list[tuple[float, int, int]] = []  # distance, serial, position
        self._position, self._setup = 0, owner.setup
        if state is None:
            self._compare(owner.setup)
        else:
            self._resume(state)

    def _resume(self, state: tuple[Any, ...]) -> None:
        places = range(len(self._objects))
        try:
            *nearest, position = state
            pairs = [tuple(nearest)] if self._k == 1 else [tuple(each) for each in nearest[0]]
            if not (self._setup <= position <= len(places) and len(pairs) <= self._k):
                raise ValueError
            self._nearest = sorted((float(apart), self._serials[places[i]], int(i)) for i, apart in pairs if i >= 0)
            self._position = int(position)
        except (IndexError, TypeError, ValueError):
            raise ValueError("not the state of a query of this model; use the one it was made with") from None

    @property
    def steps(self) -> int:
        """Objects compared so far, beyond the first of each class."""
        return self._position - self._setup

    @property
    def exhausted(self) -> bool:
        """All objects were compared."""
        return self._position >= len(self._objects)

    def refine(self, steps: int = -1, nanoseconds: int = -1, stop: StopToken | None = None) -> int:
        """Compare further objects within the limits (-1: none); return the steps taken."""
        end = math.inf if nanoseconds < 0 else time.monotonic() + nanoseconds / 1e9
        most = math.inf if steps < 0 else steps
        taken = 0
        while taken < most and not self.exhausted:
            if (stop is not None and stop.is_set()) or (end < math.inf and time.monotonic() >= end):
                break
            self._compare(self._position + 1)
            taken += 1
        return taken

    def _compare(self, last: int) -> None:
        for position in range(self._position, last):
            if position == self._left_out:
                continue
            distance = measured(self._metric, self._record, self._objects[position])
            insort(self._nearest, (distance, self._serials[position], position))
            del self._nearest[self._k :]
        self._position = last

    def label(self) -> int:
        """The number of the likeliest class."""
        return int(self.proba().argmax())

    def proba(self) -> NDArray[np.float64]:
        """The shares of the votes."""
        if not self._nearest:
            return np.full(self._n_classes, 1 / self._n_classes)
        votes = [self._labels[position] for _, _, position in self._nearest]
        return np.bincount(votes, minlength=self._n_classes) / len(votes)

    def state(self) -> tuple[Any, ...]:
        """The nearest object, its distance and the position; all of the nearest where several vote."""
        nearest = tuple((place, distance) for distance, _, place in self._nearest)
        if self._k > 1:
            return nearest, self._position
        return *(nearest[0] if nearest else (-1, 0.0)), self._position

    def nearest(self) -> list[tuple[int, float]]:
        """Serials and distances of the nearest so far."""
        return [(serial, distance) for distance, serial, _ in self._nearest]


def order_objects(
    distances: NDArray[np.float64],
    labels: NDArray[np.int32],
    n_classes: int,
    name: str,
    *,
    threads: int,
    seed: int,
    done: Counter,
    stop: StopToken,
) -> NDArray[np.int64]:
    """A native ordering of objects whose distances are known."""
    return _native.neighbors_order_of_distances(
        name, distances, labels, n_classes, threads=threads, seed=seed, done=done, stop=stop
    )
