"""Base of the members of ensembles."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.drift.drift_classifier import without_steps


class Member(ABC):
    """Model of an ensemble. Classes are the ensemble's class numbers.

    Records may have more columns than the member has learned; it ignores them.
    """

    takes_steps: ClassVar[bool] = False
    """Whether `classify` can end early; else it is `proba`, certified, whatever the budget."""
    n_features: int = 0
    """Columns that the member uses; 0 before it has learned."""

    # -- learning ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def fit(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Train from scratch on one batch."""

    def learn(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn further records, in place."""
        raise TypeError(f"{type(self).__name__} cannot learn further records; fit a new member")

    def can_learn(self, number: int) -> bool:
        """Whether the member can learn records of this class."""
        return True

    def needs_copy(self, n_records: int, n_classes: int) -> bool:
        """Whether a copy of the member must learn in its place: learning can fail, and other threads may classify.

        `n_records` is the size of the batch that the ensemble was given, `n_classes` the number of classes after it.
        """
        return True

    def copy(self) -> Member:
        """Return a member that can learn while this one stays unchanged."""
        return copy.deepcopy(self)

    # -- classifying -------------------------------------------------------------------------------------------------

    @abstractmethod
    def proba(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Return the probabilities of `n_classes` classes for each record, at the member's default budget."""

    def class_shares(self, n_classes: int) -> NDArray[np.float64]:
        """Return the shares of the classes among the records learned; equal ones if the member does not know them."""
        return np.full(n_classes, 1.0 / n_classes)

    def classify(self, records: NDArray[np.float64], n_classes: int, budget: Budget) -> BatchResult:
        """Return probabilities, steps and certificates; a member that is not anytime takes no steps."""
        return without_steps(self.proba(records, n_classes))

    def staged_proba(
        self, records: NDArray[np.float64], n_classes: int, stages: NDArray[np.int64]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the probabilities after each of the ascending numbers of steps."""
        proba = self.proba(records, n_classes)
        for _ in stages:
            yield proba

    def predict(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.intp]:
        """Return the number of the most probable class of each record."""
        return np.asarray(self.proba(records, n_classes).argmax(axis=1))

    @abstractmethod
    def renumber(self, class_map: NDArray[np.int32]) -> Member:
        """Return the same member for an ensemble in which class k has the number ``class_map[k]``."""


def first_columns(records: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
    """Return the first columns of records as a C-contiguous array."""
    return records if records.shape[1] == n_columns else np.ascontiguousarray(records[:, :n_columns])
