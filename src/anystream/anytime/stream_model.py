"""What classifiers over a native stream model share: learning in order, answering, merging.

Such a classifier names its native model and the settings of that model and of its queries; the rest of the contract
follows here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from anystream.anytime.base import AnytimeClassifierMixin
from anystream.anytime.budget import Budget
from anystream.anytime.class_labels import class_numbers, extend_classes
from anystream.anytime.merging import begin_merge
from anystream.anytime.native_answer import answer_batch, answer_in_stages
from anystream.anytime.native_query import NativeQuery
from anystream.anytime.parameters import whole_number
from anystream.anytime.query import Query
from anystream.anytime.river_face import RiverFaceMixin
from anystream.anytime.stream_file import stream_model_from_file, stream_model_to_file
from anystream.anytime.undo import as_it_was_on_error
from anystream.model_file import ArraySpec, ModelFile


class StreamClassifier(AnytimeClassifierMixin, RiverFaceMixin, ClassifierMixin, BaseEstimator):
    """A classifier that learns one point after another; `fit` is learning in the order given."""

    n_jobs: int | None
    model_: Any  # the native model

    _native_model: ClassVar[Any]  # its type
    _arrays: ClassVar[Mapping[str, ArraySpec]]  # what it consists of
    # -- for classifiers -------------------------------------------------------------------------------------------

    @abstractmethod
    def _model_settings(self) -> Any:
        """How the model learns, as native code takes it. Checks every parameter that it reads."""

    @abstractmethod
    def _query_settings(self) -> Any:
        """How queries answer, as native code takes it. Checks every parameter that it reads."""

    def _check_parameters(self) -> None:
        self._query_settings()
        self._threads()
        whole_number("budget", self.budget)
        if hasattr(self, "columns_"):  # which are among the parameters of the model
            self._check_columns()
            self._model_settings()

    def _widen(self, n_features: int) -> None:
        self.model_.add_features(n_features)

    def _check_columns(self) -> None:
        """Refuse parameters that name columns which a table does not have."""

    def _check_points(self, points: NDArray[np.float64]) -> None:
        """Refuse points that the model cannot hold, before anything changes."""

    # -- learning --------------------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget everything and learn the points in the order given.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            Points; NaN stands for a missing value.
        y : array-like of shape (n_points,)
            Their classes.
        """
        self._query_settings()
        self._threads()
        with as_it_was_on_error(self):
            points, labels = self._validate_training(X, y, reset=True)
            self.columns_ = self._column_names()
            self._check_columns()
            self._check_points(points)
            classes = np.unique(labels)
            model = self._native_model.empty(self._model_settings(), points.shape[1])
            model.declare_classes(len(classes))
            model.learn(points, class_numbers(classes, labels))
            self.model_, self.classes_ = model, classes
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn further points in the order given; a new model begins with them.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            Points; NaN stands for a missing value.
        y : array-like of shape (n_points,)
            Their classes; new ones may appear at any time.
        classes : array-like, optional
            Classes that may come later, so that `classes_` is complete from the beginning.
        """
        fresh = not hasattr(self, "model_")
        self._query_settings()
        self._threads()
        with as_it_was_on_error(self):
            points, labels = self._validate_training(X, y, reset=fresh)
            if fresh:
                self.columns_ = self._column_names()
                self._check_columns()
            self._learn(points, labels, classes)
        return self

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """One model of what `models` remember; parameters are those of the first.

        Streams that were learned side by side become one: what is young in its own stream is young in the whole. Where
        memory is bounded, the oldest leaves.
        """
        whole, numbers = begin_merge(models)
        maps = [places.tolist() for places in numbers]
        whole.model_ = cls._native_model.merge([model.model_ for model in models], maps, len(whole.classes_))
        return whole

    @property
    def memory_bytes_(self) -> int:
        """Bytes of memory that the model holds."""
        return int(self.model_.own_bytes)

    # -- what the contract asks --------------------------------------------------------------------------------------

    def _answer(
        self, queries: NDArray[np.float64], budget: Budget
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        return answer_batch(
            len(queries),
            len(self.classes_),
            partial(self.model_.answer, self._query_settings(), queries, *budget.limits(), self._threads()),
        )

    def _staged_proba(self, queries: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        fill = partial(self.model_.answer_in_stages, self._query_settings(), queries, stages, self._threads())
        return answer_in_stages(len(queries), len(stages), len(self.classes_), fill)

    def _open_query(self, row: NDArray[np.float64]) -> Query:
        return StreamQuery(self, self.model_.query(self._query_settings(), row))

    def _resume_query(self, state: Any) -> Query:
        if not isinstance(state, bytes):
            raise TypeError(f"state is a {type(state).__name__}; use the `state` of a query of this model")
        return StreamQuery(self, self.model_.resume(state))

    def _label_row(self, row: NDArray[np.float64]) -> int:
        return int(self.model_.label_one(self._query_settings(), row, self.budget))

    def _proba_row(self, row: NDArray[np.float64]) -> list[float]:
        proba: list[float] = self.model_.proba_one(self._query_settings(), row, self.budget)
        return proba

    def _learn_rows(self, rows: NDArray[np.float64], labels: NDArray[Any]) -> None:
        if not hasattr(self, "model_"):
            self.n_features_in_ = rows.shape[1]
        self._learn(rows, labels, None)

    def _learn(self, points: NDArray[np.float64], labels: NDArray[Any], declared: ArrayLike | None) -> None:
        known = getattr(self, "classes_", None)
        if declared is not None:
            known = extend_classes(known, declared)
        classes = extend_classes(known, labels)
        self._check_points(points)
        if hasattr(self, "model_"):
            model = self.model_
        else:
            model = self._native_model.empty(self._model_settings(), points.shape[1])
        model.declare_classes(len(classes))
        model.learn(points, class_numbers(classes, labels))
        self.model_, self.classes_ = model, classes

    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return stream_model_to_file(self)

    @classmethod
    def _from_file(cls, file: ModelFile, *, mapped: bool) -> Self:
        return stream_model_from_file(cls, file)


class StreamQuery(NativeQuery):
    """One record and what was found about it so far."""

    __slots__ = ()

    @property
    def state(self) -> bytes:
        """The steps so far, as bytes."""
        state: bytes = self._native.state()
        return state
