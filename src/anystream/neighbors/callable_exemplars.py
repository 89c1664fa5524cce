"""Exemplars that are any objects, compared by a Python function.

Every comparison is a Python call, so classifying is as fast as that function, on one core. The order is a native one,
computed from the distances of all pairs. Queries keep the same contract as those of the native core.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream._native import Calibration
from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.estimators.query_batch import batch_result, refine_batch
from anystream.neighbors.callable_query import CallableQuery
from anystream.neighbors.exemplar_list import ExemplarList
from anystream.neighbors.exemplars import StoredExemplars
from anystream.neighbors.python_metric import PythonMetric, measure_distance


class CallableExemplars:
    """A Python metric and the exemplars that it compares; same methods as `Exemplars`.

    Learning appends a record to the order, or puts it in front if it is the first of its class; the oldest is evicted
    when the capacity is exceeded. Open queries keep the list that they started with.

    Parameters
    ----------
    metric : callable
        Distance of two records.
    content : ExemplarList
        The exemplars.
    n_classes : int
        Number of classes.
    capacity : int
        Maximum number of exemplars; 0 for no limit.
    """

    record_type: ClassVar[str] = "objects"

    def __init__(self, metric: PythonMetric, content: ExemplarList, n_classes: int, capacity: int) -> None:
        self.metric = metric
        self.content = content
        self.n_classes = n_classes
        self.capacity = capacity

    @classmethod
    def build(
        cls, metric: PythonMetric, stored: StoredExemplars, order: NDArray[np.int64], n_classes: int, *, capacity: int
    ) -> CallableExemplars:
        """Return the exemplars at the positions in `order`, in that order."""
        records = [stored.records[i] for i in order.tolist()]
        content = ExemplarList.arrange(records, stored.labels[order].tolist(), stored.serials[order].tolist())
        return cls(metric, content, n_classes, capacity)

    def __len__(self) -> int:
        return len(self.content)

    # -- classifying -------------------------------------------------------------------------------------------------

    def class_numbers(self) -> NDArray[np.int32]:
        """Return the class numbers of the exemplars."""
        return np.asarray(self.content.labels, dtype=np.int32)

    def classify(
        self, records: Sequence[Any], k: int, budget: Budget, threads: int, calibration: Calibration | None = None
    ) -> BatchResult:
        """Return shares of votes, steps and certificates; under a deadline all records advance in rounds."""
        now = self.snapshot()
        queries = refine_batch(records, lambda record: now.open_query(record, k), budget)
        proba = [query.proba(calibration) for query in queries]
        return batch_result(queries, proba, (len(records), now.n_classes))

    def classify_stages(
        self,
        records: Sequence[Any],
        k: int,
        stages: NDArray[np.int64],
        threads: int,
        calibration: Calibration | None = None,
    ) -> NDArray[np.float64]:
        """Return shares of votes after each stage, of shape (n_records, n_stages, n_classes)."""
        now = self.snapshot()
        out = np.empty((len(records), len(stages), now.n_classes))
        for i, record in enumerate(records):
            query = now.open_query(record, k)
            for s, stage in enumerate(stages.tolist()):
                query.refine(stage - query.steps)
                out[i, s] = query.proba(calibration)
        return out

    def open_query(self, record: Any, k: int) -> CallableQuery:
        """Return a query at budget 0."""
        return CallableQuery(self.metric, self.content, self.n_classes, record, k)

    def resume_query(self, record: Any, k: int, state: tuple[Any, ...]) -> CallableQuery:
        """Return a query that was suspended."""
        return CallableQuery(self.metric, self.content, self.n_classes, record, k, state=state)

    def classify_one(self, record: Any, k: int, steps: int) -> int:
        """Return the class number of one record."""
        query = self.open_query(record, k)
        query.refine(steps)
        return query.label()

    def proba_one(self, record: Any, k: int, steps: int, calibration: Calibration | None = None) -> list[float]:
        """Return the shares of votes of one record."""
        query = self.open_query(record, k)
        query.refine(steps)
        return [float(share) for share in query.proba(calibration)]

    def evaluate_leave_one_out(self, k: int, stages: NDArray[np.int64], threads: int) -> NDArray[np.bool_]:
        """Return whether each exemplar is classified correctly by the others: (n_exemplars, n_stages)."""
        content, n_classes = self.content, self.n_classes
        correct = np.empty((len(content), len(stages)), dtype=np.bool_)
        for i, (record, label) in enumerate(zip(content.records, content.labels, strict=True)):
            query = CallableQuery(self.metric, content, n_classes, record, k, left_out=i)
            for s, stage in enumerate(stages.tolist()):
                query.refine(stage - query.steps)
                correct[i, s] = query.label() == label
        return correct

    def to_user_distance(self, native_distance: float) -> float:
        """Return the distance unchanged: it is what the metric returned."""
        return native_distance

    # -- learning ----------------------------------------------------------------------------------------------------

    def insert(self, records: Sequence[Any], labels: NDArray[np.int32], n_classes: int) -> None:
        """Learn records one by one, and extend the probabilities to `n_classes` classes.

        Each record is compared with an exemplar before anything changes.
        """
        content = self.content
        for record in records:
            if len(content):
                measure_distance(self.metric, record, content.records[0])
        for record, label in zip(records, labels.tolist(), strict=True):
            content = content.append(record, label)
            if self.capacity and len(content) > self.capacity:
                content = content.evict_oldest()
        self.n_classes, self.content = max(self.n_classes, n_classes), content

    def add_features(self, n_features: int) -> None:
        """Raise ValueError: the records have no features."""
        raise ValueError("records under a Python metric have no features; fit a new model")

    # -- content -----------------------------------------------------------------------------------------------------

    def snapshot(self) -> CallableExemplars:
        """Return the exemplars as they are now; lists are never changed in place, so both share them."""
        return copy.copy(self)

    def export(self) -> StoredExemplars:
        """Return the exemplars in the order of comparison."""
        content = self.content
        labels, serials = np.array(content.labels, dtype=np.int32), np.array(content.serials, dtype=np.int64)
        return StoredExemplars(list(content.records), labels, serials)

    @property
    def setup(self) -> int:
        """Number of exemplars that every query compares at budget 0: one of each class."""
        return self.content.setup

    @property
    def own_bytes(self) -> int:
        """Bytes of the lists; what the records themselves hold is not known."""
        return 8 * 3 * len(self.content)
