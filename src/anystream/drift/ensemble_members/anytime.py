"""Members that are anytime classifiers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.anytime.query import Query
from anystream.drift.ensemble_members.base import Member
from anystream.drift.ensemble_members.estimator import EstimatorMember


class AnytimeMember(EstimatorMember):
    """Anytime classifier, which gets the budget of the ensemble. It can learn any class at any time."""

    takes_steps: ClassVar[bool] = True

    def fit(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Train the classifier."""
        self.n_features = records.shape[1]
        self.estimator.fit(records, numbers)

    def learn(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Call `partial_fit`."""
        self.n_features = self.n_features or records.shape[1]
        self.estimator.partial_fit(self._known_columns(records), numbers)

    def can_learn(self, number: int) -> bool:
        """Return True."""
        return True

    def needs_copy(self, n_records: int, n_classes: int) -> bool:
        """Return False if one record of a known class is learned by a classifier of anystream: all of it or nothing.

        Members of one ensemble have the same parameters. So a record that they cannot learn is rejected by the first of
        them, before any has learned it. This does not hold for classifiers of a user, nor for ensembles of them.
        """
        ours = type(self.estimator).__module__.startswith("anystream.")
        if n_records > 1 or not ours or hasattr(self.estimator, "estimator"):
            return True
        return self.n_features == 0 or self.class_numbers().max() + 1 < n_classes

    def copy(self) -> Member:
        """Return a member with a copy of the classifier; native memory is shared until one of the two learns."""
        return self._with_estimator(_copy_model(self.estimator))

    def proba(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Return the probabilities at the classifier's default budget."""
        return self.classify(records, n_classes, Budget(steps=self.estimator.budget)).proba

    def classify(self, records: NDArray[np.float64], n_classes: int, budget: Budget) -> BatchResult:
        """Return probabilities, steps and certificates."""
        estimator = self.estimator.pin()
        result: BatchResult = estimator.classify_records(self._known_columns(records), budget)
        return result._replace(proba=self._spread(result.proba, n_classes))

    def class_shares(self, n_classes: int) -> NDArray[np.float64]:
        """Return what the classifier says of a record that it does not reach."""
        return np.asarray(self._spread(self.estimator.prior_proba()[np.newaxis], n_classes)[0])

    def staged_proba(
        self, records: NDArray[np.float64], n_classes: int, stages: NDArray[np.int64]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the probabilities after each of the ascending numbers of steps."""
        for proba in self.estimator.pin().staged_proba(self._known_columns(records), stages):
            yield self._spread(proba, n_classes)

    def open_query(self, record: NDArray[np.float64]) -> Query:
        """Return a query of the classifier at budget 0."""
        query: Query = self.estimator.query(record[: self.n_features])
        return query

    def resume_query(self, state: Any) -> Query:
        """Return the query of the classifier that had this state."""
        query: Query = self.estimator.query(state=state)
        return query

    def renumber(self, class_map: NDArray[np.int32]) -> Member:
        """Return a member with a copy of the classifier, whose classes are renumbered, so that it can be saved."""
        estimator = _copy_model(self.estimator)
        estimator.classes_ = class_map[self.estimator.classes_]
        return self._with_estimator(estimator)


def _copy_model(model: Any) -> Any:
    """Return a copy of an anytime classifier that can learn without changing it."""
    return model.snapshot() if hasattr(model, "snapshot") else copy.deepcopy(model)
