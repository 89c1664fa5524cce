"""Base of the classifiers of this package, which compute their probabilities at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.anytime.query import Query
from anystream.drift.decided_query import DecidedQuery
from anystream.estimators.classifier import IncrementalClassifier
from anystream.estimators.query_batch import classify_in_portions


class DriftClassifier(IncrementalClassifier, abstract=True):
    """Classifier that learns records in their order and classifies without steps: budget 0 gives the final result.

    A subclass defines `reset`, `learn_records` and `records_proba`. One whose members take steps also overrides the
    hooks that classify.
    """

    budget: int = 0  # there are no steps that a budget could limit

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    @abstractmethod
    def records_proba(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of validated records."""

    # -- classifying -------------------------------------------------------------------------------------------------

    def classify_records(self, records: NDArray[np.float64], budget: Budget) -> BatchResult:
        """Return the probabilities with 0 steps, all certified."""
        return classify_in_portions(records, budget, lambda portion, _: without_steps(self.records_proba(portion)))

    def staged_proba(self, records: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Yield the same probabilities for every stage."""
        proba = self.records_proba(records)
        for _ in stages:
            yield proba.copy()

    def open_query(self, record: NDArray[np.float64]) -> Query:
        """Return a query that is exhausted from the start."""
        proba = self.records_proba(self.check_record(record)[np.newaxis])[0]
        return DecidedQuery(self.classes_, proba)

    def resume_query(self, state: Any) -> Query:
        """Return the query that had these probabilities."""
        return DecidedQuery.resume(self.classes_, state)

    def proba_one(self, record: NDArray[np.float64]) -> list[float]:
        """Return the probabilities of one record at the default budget."""
        proba: list[float] = self.records_proba(record[np.newaxis])[0].tolist()
        return proba

    def classify_one(self, record: NDArray[np.float64], steps: int) -> int:
        """Return the class number of one record, which takes no steps."""
        return int(self.records_proba(record[np.newaxis])[0].argmax())

    def check_record(self, record: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a record of a query; raise ValueError if its length or a value is invalid."""
        if len(record) != self.n_features_in_:
            raise ValueError(
                f"the record has {len(record)} features, fit saw {self.n_features_in_}; pass the same columns"
            )
        if np.isinf(record).any():
            raise ValueError("the record holds an infinite value; use NaN for a missing one")
        return record

    # -- river -------------------------------------------------------------------------------------------------------

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()


def without_steps(proba: NDArray[np.float64]) -> BatchResult:
    """Return the result of a classifier that takes no steps."""
    n_records = len(proba)
    return BatchResult(proba, np.zeros(n_records, dtype=np.int64), np.ones(n_records, dtype=np.bool_))
