"""What every anytime classifier offers, once it can answer a batch and open a query."""

from __future__ import annotations

import copy
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from anystream.anytime.answer import Answer
from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.feature_values import check_feature_values
from anystream.anytime.parameters import thread_count
from anystream.anytime.query import Query
from anystream.anytime.stages import check_stages
from anystream.model_file import ModelFile, write_model


class AnytimeClassifierMixin:
    """The anytime contract on top of scikit-learn's estimator.

    A classifier that inherits this has a constructor parameter `budget` (the steps that a call without a budget of
    its own spends per record) and supplies what stands under "for classifiers" below. Its answers at a budget in steps
    depend on the record and the model alone: not on the rest of the batch, the number of threads or the clock.
    """

    budget: int
    n_jobs: int | None  # if it has such a parameter
    classes_: NDArray[Any]
    n_features_in_: int

    kind: ClassVar[str]
    """The name under which model files of this classifier are written."""
    file_version: ClassVar[int] = 1

    # -- for classifiers -------------------------------------------------------------------------------------------

    @abstractmethod
    def _answer(
        self, queries: NDArray[np.float64], budget: Budget
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        """Probabilities, steps and certificates of validated records."""

    @abstractmethod
    def _staged_proba(self, queries: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Probabilities of validated records after each of the ascending numbers of steps."""

    @abstractmethod
    def _open_query(self, row: NDArray[np.float64]) -> Query:
        """A query at budget 0. The row is checked for its length and for infinite values here, not before."""

    @abstractmethod
    def _resume_query(self, state: Any) -> Query:
        """A query from its `state`."""

    @abstractmethod
    def _check_parameters(self) -> Any:
        """Refuse parameters that make no sense, by a ValueError and before anything changes."""

    @abstractmethod
    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Metadata and arrays from which `_from_file` makes the model again."""

    @classmethod
    @abstractmethod
    def _from_file(cls, file: ModelFile, *, mapped: bool) -> Self:
        """The model that `_to_file` described, every value checked before it is used."""

    @classmethod
    @abstractmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """One model of all the data that `models` were fitted on."""

    # -- the scikit-learn surface ----------------------------------------------------------------------------------

    def predict(self, X: ArrayLike, *, budget: BudgetLike = None) -> NDArray[Any]:
        """The likeliest class of each record.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records; NaN stands for a missing value.
        budget : int, timedelta or Budget, optional
            How much work the answers may cost; a number is steps per record. Default: the parameter `budget`.
        """
        return self.classify(X, budget=budget).labels

    def predict_proba(self, X: ArrayLike, *, budget: BudgetLike = None) -> NDArray[np.float64]:
        """Probabilities of the classes for each record, in the order of `classes_`.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records; NaN stands for a missing value.
        budget : int, timedelta or Budget, optional
            How much work the answers may cost; a number is steps per record. Default: the parameter `budget`.
        """
        return self.classify(X, budget=budget).proba

    def classify(self, X: ArrayLike, *, budget: BudgetLike = None) -> Answer:
        """Labels and probabilities, with the steps that they took and whether more could change them.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records; NaN stands for a missing value.
        budget : int, timedelta or Budget, optional
            How much work the answers may cost; a number is steps per record. Default: the parameter `budget`.
        """
        started = time.perf_counter()
        begun = self._budget(budget).begin()
        check_is_fitted(self)
        queries = self._validate_queries(X)
        proba, steps, certified = self._answer(queries, begun)
        labels = self.classes_[proba.argmax(axis=1)]
        return Answer(labels, proba, steps, certified, time.perf_counter() - started)

    def staged_predict_proba(
        self, X: ArrayLike, *, stages: Sequence[int] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Probabilities as they were after each of `stages` steps.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records; NaN stands for a missing value.
        stages : sequence of int, optional
            Ascending numbers of steps. Default: 0, 1, 2, ... up to the parameter `budget`.

        Yields
        ------
        array of shape (n_records, n_classes)
            One for each stage.
        """
        check_is_fitted(self)
        steps = check_stages(range(self.budget + 1) if stages is None else stages)
        yield from self._staged_proba(self._validate_queries(X), steps)

    def staged_predict(self, X: ArrayLike, *, stages: Sequence[int] | None = None) -> Iterator[NDArray[Any]]:
        """Labels as they were after each of `stages` steps; see `staged_predict_proba`."""
        for proba in self.staged_predict_proba(X, stages=stages):
            yield self.classes_[proba.argmax(axis=1)]

    # -- one record in the hand ------------------------------------------------------------------------------------

    def query(self, x: ArrayLike | None = None, *, state: Any = None) -> Query:
        """One classification to be refined step by step.

        Parameters
        ----------
        x : array-like of shape (n_features,), optional
            The record; NaN stands for a missing value.
        state : optional
            The `state` of an earlier query of this model, instead of `x`: the query goes on from there.
        """
        if not hasattr(self, "classes_"):
            check_is_fitted(self)
        if (x is None) == (state is None):
            raise TypeError("query takes a record or the state of an earlier query, and not both")
        if x is None:
            return self._resume_query(state)
        row = np.ascontiguousarray(x, dtype=np.float64)
        if row.ndim != 1:
            raise ValueError(f"a query is one record, this has the shape {row.shape}; use classify for a batch")
        return self._open_query(row)

    # -- keeping -----------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the model to a file that holds no code; `anystream.load` reads it.

        The file is complete or not there: it is written beside its place and then moved.

        Parameters
        ----------
        path : path
            Where to write.
        notes : mapping, optional
            What belongs to the model beside it, as JSON can hold it, such as the columns of the table it was fitted on;
            ``anystream.model_file.read_model(path).metadata["notes"]`` gives it back.
        """
        check_is_fitted(self)
        metadata, arrays = self._to_file()
        if notes is not None:
            metadata = metadata | {"notes": dict(notes)}
        write_model(path, kind=self.kind, version=self.file_version, metadata=metadata, arrays=arrays)

    def snapshot(self) -> Self:
        """The model as it is now: it answers alike whatever this one learns later.

        What native code holds is shared until this model learns on; nothing large is copied here.
        """
        twin = copy.copy(self)
        for name, value in vars(self).items():
            vars(twin)[name] = value.snapshot() if hasattr(value, "snapshot") else copy.deepcopy(value)
        return twin

    # -- validation --------------------------------------------------------------------------------------------------

    def _budget(self, budget: BudgetLike) -> Budget:
        return Budget(steps=self.budget) if budget is None else Budget.of(budget)

    def _validate_queries(self, X: ArrayLike) -> NDArray[np.float64]:
        if self._is_valid(X):
            return X
        finite = "allow-nan" if self._takes_missing_values() else True
        return np.asarray(validate_data(self, X, dtype=np.float64, order="C", ensure_all_finite=finite, reset=False))

    def _takes_missing_values(self) -> bool:
        return True

    def _is_valid(self, X: ArrayLike) -> TypeGuard[NDArray[np.float64]]:
        """Whether scikit-learn's checks, which cost more than a small batch of answers, could find nothing to say."""
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X) > 0
            and X.shape[1] == self.n_features_in_
            and X.flags.c_contiguous
            and not hasattr(self, "feature_names_in_")
            and (not np.isinf(X).any() if self._takes_missing_values() else bool(np.isfinite(X).all()))
        )

    def _validate_training(
        self, X: ArrayLike, y: ArrayLike, *, reset: bool
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        points, labels = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            order="C",
            ensure_all_finite="allow-nan" if self._takes_missing_values() else True,
            ensure_min_features=1,
            reset=reset,
        )
        check_classification_targets(labels)
        return check_feature_values(np.asarray(points)), column_or_1d(labels)

    def _column_names(self) -> dict[Any, int]:
        """The columns of the table that was validated last, by name or number."""
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return {name: column for column, name in enumerate(names)}

    def _threads(self) -> int:
        """How many threads native code may use; 0 is one per core."""
        return thread_count(self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # scikit-learn's BaseEstimator comes later in the MRO
        tags.input_tags.allow_nan = True
        return tags
