"""Members of ensembles: models whose classes are numbers and whose records may get further columns."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.anytime.classifier import AnytimeClassifier
from anystream.anytime.query import Query
from anystream.drift.drift_classifier import without_steps
from anystream.drift.flat_tree import FlatTree
from anystream.drift.gaussian_moments import GaussianMoments
from anystream.drift.gaussian_naive_bayes import GaussianNaiveBayes
from anystream.estimators.parameters import check_positive


class Member(ABC):
    """Model of an ensemble. Classes are the ensemble's class numbers.

    Records may have more columns than the member has learned; it ignores them.
    """

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
        """Whether a copy of the member must learn in its place, because learning can fail and be rolled back.

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


class EstimatorMember(Member):
    """Any scikit-learn classifier, used through its public methods.

    Parameters
    ----------
    estimator : classifier
        Unfitted, and used by this member only.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.class_map: NDArray[np.int32] | None = None  # the estimator's classes -> the ensemble's; None: the same

    def fit(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Train the estimator. A single class needs no training, and many classifiers reject it."""
        self.n_features = records.shape[1]
        if (numbers == numbers[0]).all():
            self.estimator = DummyClassifier()
        self.estimator.fit(records, numbers)

    def learn(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Call `partial_fit`, the first time with all classes."""
        if self.n_features == 0:
            self.n_features = records.shape[1]
            if n_classes == 1:
                self.estimator = DummyClassifier().fit(records, numbers)
            else:
                self.estimator.partial_fit(records, numbers, classes=np.arange(n_classes, dtype=np.int32))
        elif not isinstance(self.estimator, DummyClassifier):
            self.estimator.partial_fit(self._known_columns(records), numbers)

    def can_learn(self, number: int) -> bool:
        """Whether the class was among those of the first call of `partial_fit`, or there was no call yet."""
        return self.n_features == 0 or number in self.estimator.classes_

    def proba(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Return probabilities, 1 for the predicted class if the estimator has none; 0 for unknown classes."""
        known = self._known_columns(records)
        if hasattr(self.estimator, "predict_proba"):
            return self._spread(np.asarray(self.estimator.predict_proba(known)), n_classes)
        predicted = np.searchsorted(self.estimator.classes_, self.estimator.predict(known))
        return self._spread(np.eye(len(self.estimator.classes_))[predicted], n_classes)

    def class_numbers(self) -> NDArray[np.int32]:
        """Return the ensemble's numbers of the estimator's classes, in the estimator's order."""
        own = np.asarray(self.estimator.classes_)
        return own if self.class_map is None else self.class_map[own]

    def renumber(self, class_map: NDArray[np.int32]) -> Member:
        """Return a member with the same estimator and other class numbers."""
        renumbered = copy.copy(self)
        renumbered.class_map = class_map if self.class_map is None else class_map[self.class_map]
        return renumbered

    def _known_columns(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        return first_columns(records, self.n_features)

    def _spread(self, proba: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Return probabilities of the estimator's classes in the columns of the ensemble's classes."""
        out = np.zeros((len(proba), n_classes))
        out[:, self.class_numbers()] = proba
        return out

    def _with_estimator(self, estimator: Any) -> Member:
        twin = copy.copy(self)
        twin.estimator = estimator
        return twin


class AnytimeMember(EstimatorMember):
    """Anytime classifier, which gets the budget of the ensemble. It can learn any class at any time."""

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
        """Return False if one record is learned by a classifier of anystream, which rolls back by itself.

        Members of one ensemble have the same parameters. So a record that they cannot learn is rejected by the first of
        them, before any has learned it. This does not hold for classifiers of a user, nor for ensembles of them.
        """
        ours = type(self.estimator).__module__.startswith("anystream.")
        return n_records > 1 or not ours or hasattr(self.estimator, "estimator")

    def copy(self) -> Member:
        """Return a member with a copy of the classifier; native memory is shared until one of the two learns."""
        return self._with_estimator(copy_model(self.estimator))

    def proba(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Return the probabilities at the classifier's default budget."""
        return self.classify(records, n_classes, Budget(steps=self.estimator.budget)).proba

    def classify(self, records: NDArray[np.float64], n_classes: int, budget: Budget) -> BatchResult:
        """Return probabilities, steps and certificates."""
        proba, steps, certified = self.estimator.classify_records(self._known_columns(records), budget)
        return BatchResult(self._spread(proba, n_classes), steps, certified)

    def staged_proba(
        self, records: NDArray[np.float64], n_classes: int, stages: NDArray[np.int64]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the probabilities after each of the ascending numbers of steps."""
        for proba in self.estimator.staged_proba(self._known_columns(records), stages):
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
        estimator = copy_model(self.estimator)
        estimator.classes_ = class_map[self.estimator.classes_]
        return self._with_estimator(estimator)


class TreeMember(Member):
    """One of scikit-learn's decision trees, of which only the nodes are kept."""

    tree: FlatTree

    def __init__(self, estimator: DecisionTreeClassifier | None) -> None:
        self.estimator = estimator  # None once it is fitted

    @classmethod
    def from_tree(cls, tree: FlatTree, n_features: int) -> TreeMember:
        """Return a fitted member."""
        member = cls(None)
        member.tree, member.n_features = tree, n_features
        return member

    def fit(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Train the estimator and keep its nodes."""
        if self.estimator is None:
            raise TypeError("the tree of this member is fitted already; make a new member")
        self.n_features = records.shape[1]
        self.tree = FlatTree.from_estimator(self.estimator.fit(records, numbers), n_classes)
        self.estimator = None

    def proba(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Return the class shares of the leaf of each record."""
        shares = self.tree.proba(first_columns(records, self.n_features))
        return shares if shares.shape[1] == n_classes else np.pad(shares, ((0, 0), (0, n_classes - shares.shape[1])))

    def renumber(self, class_map: NDArray[np.int32]) -> Member:
        """Return a member whose nodes have their shares in the columns of the new numbers."""
        shares = np.zeros((len(self.tree.shares), int(class_map.max()) + 1))
        shares[:, class_map[: self.tree.shares.shape[1]]] = self.tree.shares
        return self.from_tree(replace(self.tree, shares=shares), self.n_features)


class MomentsMember(Member):
    """Our naive Bayes without the estimator around it. It can learn any class at any time."""

    def __init__(self, moments: GaussianMoments) -> None:
        self.moments = moments

    def fit(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Compute the moments of one batch."""
        self.moments = GaussianMoments(records.shape[1], self.moments.smoothing)
        self.learn(records, numbers, n_classes)

    def learn(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Add records to the moments."""
        if self.moments.mean.shape != (n_classes, records.shape[1]):
            self.moments = self.moments.with_shape(n_classes, records.shape[1])
        self.moments.learn(records, numbers)

    def needs_copy(self, n_records: int, n_classes: int) -> bool:
        """Return False for one record of a known class: learning it cannot fail after validation.

        A batch is learned in several calls of `learn`, between which the user can interrupt it.
        """
        return n_records > 1 or n_classes != len(self.moments.count)

    def copy(self) -> Member:
        """Return a member with a copy of the moments."""
        return MomentsMember(self.moments.copy())

    def proba(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Return P(c | x)."""
        return self.moments.proba(records, n_classes)

    def renumber(self, class_map: NDArray[np.int32]) -> Member:
        """Return a member with the same moments and other class numbers."""
        return MomentsMember(self.moments.renumber(class_map))


def new_member(estimator: Any, seed: int) -> Member:
    """Return an unfitted member from a clone of `estimator`; parameters for seeds that are None get `seed`."""
    own = clone(estimator)
    unseeded = {
        name: seed % 2**32  # the range that scikit-learn accepts
        for name, value in own.get_params().items()
        if value is None and name.rpartition("__")[2] in ("random_state", "seed")
    }
    own.set_params(**unseeded)
    if type(own) is GaussianNaiveBayes:
        return MomentsMember(GaussianMoments(0, check_positive("smoothing", own.smoothing)))
    if isinstance(own, AnytimeClassifier):
        return AnytimeMember(own)
    if type(own) is DecisionTreeClassifier:
        return TreeMember(own)
    return EstimatorMember(own)


def allows_nan(estimator: Any) -> bool:
    """Whether an estimator accepts missing values; one without scikit-learn's tags does not."""
    tags = getattr(estimator, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.allow_nan)


def first_columns(records: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
    """Return the first columns of records as a C-contiguous array."""
    return records if records.shape[1] == n_columns else np.ascontiguousarray(records[:, :n_columns])


def copy_model(model: Any) -> Any:
    """Return a copy of an anytime classifier that can learn without changing it."""
    return model.snapshot() if hasattr(model, "snapshot") else copy.deepcopy(model)
