"""Training records to be ordered and turned into exemplars, for named distances and for Python metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream._native import Counter, StopToken
from anystream.neighbors.callable_exemplars import CallableExemplars
from anystream.neighbors.distances import Distance
from anystream.neighbors.exemplars import Exemplars, StoredExemplars
from anystream.neighbors.orderings import OrderingTask
from anystream.neighbors.python_metric import PythonMetric, measure_all_pairs, measure_distance
from anystream.neighbors.recipe import NeighborsRecipe

AnyExemplars = Exemplars | CallableExemplars
Positions = NDArray[np.int64]
_CALL_WORK = 20_000.0
_Exemplars = TypeVar("_Exemplars", Exemplars, CallableExemplars)


class TrainingSet(ABC, Generic[_Exemplars]):
    """Training records and the recipe for their order.

    Parameters
    ----------
    recipe : NeighborsRecipe
        The parameters.
    stored : StoredExemplars
        Records, class numbers and serials.
    n_classes : int
        Number of classes.
    threads : int
        Threads for native work; 0 for one per core.
    """

    def __init__(self, recipe: NeighborsRecipe, stored: StoredExemplars, n_classes: int, threads: int) -> None:
        self.recipe = recipe
        self.stored = stored
        self.n_classes = n_classes
        self.threads = threads

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    @abstractmethod
    def order_natively(self, positions: Positions, name: str, done: Counter, stop: StopToken) -> Positions:
        """Run a native ordering on the records at `positions`; return indices into `positions`."""

    @abstractmethod
    def build(self, order: Positions, *, lists: bool = True) -> _Exemplars:
        """Return the records at the positions in `order` as exemplars; False for `lists` builds none in any case."""

    @abstractmethod
    def classify_held_out(self, exemplars: _Exemplars, held_out: Positions, stages: Positions) -> NDArray[np.float64]:
        """Return the shares of votes of the records at `held_out`: (n_held_out, n_stages, n_classes)."""

    @abstractmethod
    def comparison_work(self) -> float:
        """Return how many pairs of values a comparison of two records combines, about."""

    # -- orders and their accuracy -----------------------------------------------------------------------------------

    def order(self, positions: Positions) -> Positions:
        """Return `positions` in the order of the recipe."""
        task = OrderingTask(
            labels=self.stored.labels[positions],
            n_classes=self.n_classes,
            seed=self.recipe.seed,
            native=lambda name, done, stop: self.order_natively(positions, name, done, stop),
            accuracy_curve=lambda order: self._leave_one_out_accuracy(positions[order]),
        )
        return positions[self.recipe.ordering(task)]

    def order_all(self) -> Positions:
        """Return the positions of all records in the order of the recipe."""
        return self.order(np.arange(len(self.stored.labels), dtype=np.int64))

    def evaluate(self, exemplars: _Exemplars, held_out: Positions, stages: Positions) -> NDArray[np.bool_]:
        """Return whether held-out records are classified correctly after each stage: (n_held_out, n_stages)."""
        proba = self.classify_held_out(exemplars, held_out, stages)
        correct: NDArray[np.bool_] = proba.argmax(axis=2) == self.stored.labels[held_out][:, np.newaxis]
        return correct

    def _leave_one_out_accuracy(self, order: Positions) -> NDArray[np.float64]:
        stages = np.array([2**i for i in range(max(1, len(order).bit_length()))], dtype=np.int64)
        correct = self.build(order).evaluate_leave_one_out(1, stages, self.threads)
        return np.asarray(correct.mean(axis=0))


class EncodedTrainingSet(TrainingSet[Exemplars]):
    """Records that a fitted distance has encoded.

    Parameters
    ----------
    recipe, stored, n_classes, threads
        See `TrainingSet`; the records are encoded.
    distance : Distance
        The fitted distance.
    """

    def __init__(
        self, recipe: NeighborsRecipe, stored: StoredExemplars, n_classes: int, threads: int, distance: Distance
    ) -> None:
        super().__init__(recipe, stored, n_classes, threads)
        self.distance = distance

    def order_natively(self, positions: Positions, name: str, done: Counter, stop: StopToken) -> Positions:
        """Run a native ordering on encoded records."""
        values, borders = self.distance.pack(self._take(positions))
        return _native.neighbors_order(
            name,
            self.distance.native_metric,
            values,
            borders,
            self.stored.labels[positions],
            self.n_classes,
            threads=self.threads,
            seed=self.recipe.seed,
            done=done,
            stop=stop,
        )

    def build(self, order: Positions, *, lists: bool = True) -> Exemplars:
        """Return native exemplars, in lists if the search of the recipe is inverted."""
        return Exemplars.build(
            self.distance,
            self.stored,
            order,
            self.n_classes,
            capacity=self.recipe.capacity,
            lists=lists and self.recipe.inverted,
            threads=self.threads,
        )

    def classify_held_out(self, exemplars: Exemplars, held_out: Positions, stages: Positions) -> NDArray[np.float64]:
        """Classify encoded records."""
        return exemplars.classify_encoded_stages(self._take(held_out), self.recipe.k, stages, self.threads)

    def comparison_work(self) -> float:
        """Return the work of the distance."""
        return self.distance.comparison_work(self.stored.records)

    def _take(self, positions: Positions) -> Any:
        records = self.stored.records
        return [records[i] for i in positions] if self.distance.record_type == "texts" else records[positions]


class CallableTrainingSet(TrainingSet[CallableExemplars]):
    """Records under a Python metric; their distances are computed when an ordering needs them.

    Parameters
    ----------
    recipe, stored, n_classes, threads
        See `TrainingSet`.
    metric : callable
        Distance of two records.
    """

    def __init__(
        self, recipe: NeighborsRecipe, stored: StoredExemplars, n_classes: int, threads: int, metric: PythonMetric
    ) -> None:
        super().__init__(recipe, stored, n_classes, threads)
        self.metric = metric
        self._distances: NDArray[np.float64] | None = None
        measure_distance(metric, stored.records[0], stored.records[-1])  # an invalid metric is detected at once

    def order_natively(self, positions: Positions, name: str, done: Counter, stop: StopToken) -> Positions:
        """Run a native ordering on the distances of all pairs."""
        if self._distances is None:
            self._distances = measure_all_pairs(self.metric, self.stored.records)
        return _native.neighbors_order_of_distances(
            name,
            np.ascontiguousarray(self._distances[np.ix_(positions, positions)]),
            self.stored.labels[positions],
            self.n_classes,
            threads=1,
            seed=self.recipe.seed,
            done=done,
            stop=stop,
        )

    def build(self, order: Positions, *, lists: bool = True) -> CallableExemplars:
        """Return exemplars; they never have lists."""
        return CallableExemplars.build(self.metric, self.stored, order, self.n_classes, capacity=self.recipe.capacity)

    def classify_held_out(
        self, exemplars: CallableExemplars, held_out: Positions, stages: Positions
    ) -> NDArray[np.float64]:
        """Classify in Python."""
        records = [self.stored.records[i] for i in held_out]
        return exemplars.classify_stages(records, self.recipe.k, stages, 1)

    def comparison_work(self) -> float:
        """Return what native code does in the time of a call of a short Python function."""
        return _CALL_WORK


def make_training_set(
    recipe: NeighborsRecipe, records: Any, labels: NDArray[np.int32], n_classes: int, threads: int
) -> EncodedTrainingSet | CallableTrainingSet:
    """Return the training set of validated records; a named distance is fitted on them."""
    serials = np.arange(len(labels), dtype=np.int64)
    if callable(recipe.metric):
        stored = StoredExemplars(records, labels, serials)
        return CallableTrainingSet(recipe, stored, n_classes, threads, recipe.metric)
    distance = recipe.new_distance()
    stored = StoredExemplars(distance.fit(records), labels, serials)
    return EncodedTrainingSet(recipe, stored, n_classes, threads, distance)
