"""Bases of classifiers that are made of clones of an estimator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream.drift.drift_classifier import DriftClassifier
from anystream.drift.ensemble_members import Member, allows_nan, new_member
from anystream.drift.estimator_json import ensemble_parameters_from_json, ensemble_parameters_to_json
from anystream.estimators.saving import SaveableMixin


class MetaClassifier(DriftClassifier, abstract=True):
    """Classifier with the constructor parameters `estimator`, whose clones are its members, and `random_state`."""

    estimator: Any
    random_state: Any

    needs_partial_fit: ClassVar[bool] = False
    """Whether members learn further records after the first ones."""

    @abstractmethod
    def default_estimator(self) -> Any:
        """Return the estimator that is used if the parameter is None. It must accept missing values."""

    @abstractmethod
    def voters(self) -> Sequence[tuple[Member, float]]:
        """Return the members that vote, with their weights."""

    def prior_proba(self) -> NDArray[np.float64]:
        """Return the shares of the classes among the records of the members that vote."""
        n_classes, voters = len(self.classes_), self.voters()
        if not voters:
            return np.full(n_classes, 1.0 / n_classes)
        total = np.sum([weight * member.class_shares(n_classes) for member, weight in voters], axis=0)
        return np.asarray(total / total.sum())

    def check_parameters(self) -> None:
        """Check the estimator."""
        estimator = self.estimator
        if estimator is None:
            return
        if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
            raise TypeError(f"estimator is {estimator!r}, which is not a scikit-learn estimator; pass a classifier")
        if self.needs_partial_fit and not hasattr(estimator, "partial_fit"):
            raise TypeError(
                f"estimator is a {type(estimator).__name__}, which has no partial_fit; use a classifier that has it, "
                "or WCEA or SEAEnsemble, whose members learn one chunk only"
            )

    def allows_missing(self) -> bool:
        """Whether the members accept missing values."""
        return self.estimator is None or allows_nan(self.estimator)

    def new_member(self, n_created: int) -> Member:
        """Return an unfitted member; `n_created` members or chunks came before it."""
        estimator = self.default_estimator() if self.estimator is None else self.estimator
        return new_member(estimator, self.seed_ + n_created)


class SaveableMetaClassifier(SaveableMixin, MetaClassifier, abstract=True):
    """Meta-classifier whose model file names the estimator by its kind and parameters."""

    def parameters_to_json(self) -> dict[str, Any]:
        """Return the constructor parameters as JSON values; TypeError if a file cannot store the estimator."""
        return ensemble_parameters_to_json(self.get_params(deep=False))

    @classmethod
    def parameters_from_json(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return constructor parameters from JSON values; TypeError or ValueError if they are invalid."""
        return ensemble_parameters_from_json(parameters)
