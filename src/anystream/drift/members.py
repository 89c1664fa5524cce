"""A model as an ensemble sees it: classes by number, records of any width."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from anystream.anytime.base import AnytimeClassifierMixin
from anystream.anytime.budget import Budget
from anystream.drift.flat_tree import FlatTree
from anystream.drift.gaussian_naive_bayes import GaussianMoments, GaussianNaiveBayes


class Member:
    """Any scikit-learn classifier, by its public methods.

    Labels are class numbers of the ensemble. A record may have got further columns since the member learned: it leaves
    them out.

    Parameters
    ----------
    estimator : classifier
        Unfitted and not shared with anybody.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.width = 0
        self.numbering: NDArray[np.int32] | None = None  # the ensemble's numbers, if they are not the estimator's own

    def fit(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn a batch from nothing."""
        self.width = rows.shape[1]
        if (numbers == numbers[0]).all():
            self.estimator = DummyClassifier()  # many classifiers refuse a single class; it needs no learning
        self.estimator.fit(rows, numbers)

    def learn(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn further records."""
        if self.width == 0:
            self.width = rows.shape[1]
            if n_classes == 1:
                self.estimator = DummyClassifier().fit(rows, numbers)
            else:
                self.estimator.partial_fit(rows, numbers, classes=np.arange(n_classes, dtype=np.int32))
        elif not isinstance(self.estimator, DummyClassifier):
            self.estimator.partial_fit(self._seen(rows), numbers)

    def knows(self, number: int) -> bool:
        """Whether it can learn a class: one that it was told of when it began, any if it has not begun."""
        return self.width == 0 or number in self.estimator.classes_

    def proba(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Probabilities of the classes for each record; 0 for a class that the member never met."""
        seen = self._seen(rows)
        if hasattr(self.estimator, "predict_proba"):
            return self._spread(np.asarray(self.estimator.predict_proba(seen)), n_classes)
        said = np.searchsorted(self.estimator.classes_, self.estimator.predict(seen))
        return self._spread(np.eye(len(self.estimator.classes_))[said], n_classes)

    def classes(self) -> NDArray[np.int32]:
        """The ensemble's numbers of the classes that the member tells apart, in its order."""
        own = np.asarray(self.estimator.classes_)
        return own if self.numbering is None else self.numbering[own]

    def renumbered(self, numbering: NDArray[np.int32]) -> Member:
        """The same member in an ensemble that calls class k ``numbering[k]``."""
        twin = copy.copy(self)
        twin.numbering = numbering if self.numbering is None else numbering[self.numbering]
        return twin

    def _seen(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return rows if rows.shape[1] == self.width else np.ascontiguousarray(rows[:, : self.width])

    def _spread(self, proba: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        out = np.zeros((len(proba), n_classes))
        out[:, self.classes()] = proba
        return out


class TreeMember(Member):
    """One of scikit-learn's decision trees, of which only the tree is kept."""

    tree: FlatTree

    @classmethod
    def holding(cls, tree: FlatTree, width: int) -> TreeMember:
        """A member that has learned already."""
        member = cls(None)
        member.tree, member.width = tree, width
        return member

    def fit(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn a batch from nothing."""
        self.width = rows.shape[1]
        self.tree = FlatTree.of(self.estimator.fit(rows, numbers), n_classes)
        self.estimator = None

    def proba(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Class shares of the leaf of each record."""
        shares = self.tree.proba(self._seen(rows))
        return shares if shares.shape[1] == n_classes else np.pad(shares, ((0, 0), (0, n_classes - shares.shape[1])))

    def renumbered(self, numbering: NDArray[np.int32]) -> Member:
        """The same member in an ensemble that calls class k ``numbering[k]``."""
        shares = np.zeros((len(self.tree.shares), int(numbering.max()) + 1))
        shares[:, numbering[: self.tree.shares.shape[1]]] = self.tree.shares
        return self.holding(replace(self.tree, shares=shares), self.width)


class MomentsMember(Member):
    """Our naive Bayes without the estimator around it."""

    def __init__(self, moments: GaussianMoments) -> None:
        super().__init__(None)
        self.moments = moments

    def fit(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn a batch from nothing."""
        self.moments = GaussianMoments(rows.shape[1], self.moments.smoothing)
        self.moments.learn(rows, numbers, n_classes)

    def learn(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn further records."""
        self.moments.learn(rows, numbers, n_classes)

    def knows(self, number: int) -> bool:
        """It can learn any class."""
        return True

    def proba(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """P(c | x)."""
        return self.moments.proba(rows, n_classes)

    def renumbered(self, numbering: NDArray[np.int32]) -> Member:
        """The same member in an ensemble that calls class k ``numbering[k]``."""
        return MomentsMember(self.moments.renumbered(numbering))


class AnytimeMember(Member):
    """An anytime classifier, to which a budget is passed on."""

    def fit(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn a batch from nothing."""
        self.width = rows.shape[1]
        self.estimator.fit(rows, numbers)

    def learn(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn further records."""
        self.width = self.width or rows.shape[1]
        self.estimator.partial_fit(self._seen(rows), numbers)

    def answer(
        self, rows: NDArray[np.float64], n_classes: int, budget: Budget
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        """Probabilities, steps and certificates."""
        proba, steps, certified = self.estimator._answer(self._seen(rows), budget)
        return self._spread(proba, n_classes), steps, certified

    def staged(
        self, rows: NDArray[np.float64], n_classes: int, stages: NDArray[np.int64]
    ) -> Iterator[NDArray[np.float64]]:
        """Probabilities after each of the numbers of steps."""
        for proba in self.estimator._staged_proba(self._seen(rows), stages):
            yield self._spread(proba, n_classes)

    def knows(self, number: int) -> bool:
        """It can learn any class."""
        return True

    def proba(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Probabilities at the member's own default budget."""
        return self.answer(rows, n_classes, Budget(steps=self.estimator.budget))[0]

    def renumbered(self, numbering: NDArray[np.int32]) -> Member:
        """The same member in an ensemble that calls class k ``numbering[k]``."""
        twin = copy.copy(self)
        twin.estimator = self.estimator.snapshot()
        twin.estimator.classes_ = numbering[self.estimator.classes_]
        return twin


def new_member(estimator: Any, seed: int) -> Member:
    """An unfitted member of the kind of `estimator`; what is random in it gets the seed, unless it has its own."""
    own = clone(estimator)
    unseeded = {
        name: seed
        for name, value in own.get_params().items()
        if value is None and name.rpartition("__")[2] in ("random_state", "seed")
    }
    own.set_params(**unseeded)
    if isinstance(own, GaussianNaiveBayes):
        return MomentsMember(own.no_moments(0))
    if isinstance(own, AnytimeClassifierMixin):
        return AnytimeMember(own)
    if type(own) is DecisionTreeClassifier:
        return TreeMember(own)
    return Member(own)


def allows_nan(estimator: Any) -> bool:
    """Whether an estimator takes missing values; one that says nothing about it does not."""
    tags = getattr(estimator, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.allow_nan)
