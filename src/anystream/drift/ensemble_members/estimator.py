"""Members that are classifiers of scikit-learn or of a user."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier

from anystream.drift.ensemble_members.base import Member, first_columns


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
        out[:, self.class_numbers()[: proba.shape[1]]] = proba  # the estimator may have learned a class meanwhile
        return out

    def _with_estimator(self, estimator: Any) -> Member:
        twin = copy.copy(self)
        twin.estimator = estimator
        return twin
