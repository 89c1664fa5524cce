"""What classifiers over a native stream model share: learning in order, answering, merging.

Such a classifier names its native model and the settings of that model and of its queries; the rest of the contract
follows here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from anystream.anytime.base import AnytimeClassifierMixin
from anystream.anytime.budget import Budget
from anystream.anytime.class_labels import class_numbers, extend_classes
from anystream.anytime.native_query import NativeQuery
from anystream.anytime.query import Query
from anystream.anytime.river_face import RiverFaceMixin
from anystream.anytime.stream_file import stream_model_from_file, stream_model_to_file
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

    def _widen_model(self, n_features: int) -> None:
        self.model_.widen(n_features)

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
        points, labels = self._validate_training(X, y, reset=True)
        columns = self._column_names()
        classes = np.unique(labels)
        before = vars(self).get("columns_")
        self.columns_ = columns
        try:
            self._check_columns()
            self._check_points(points)
            model = self._native_model.empty(self._model_settings(), points.shape[1])
            model.declare_classes(len(classes))
        except BaseException:
            if before is None:
                del self.columns_
            else:
                self.columns_ = before
            raise
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
        points, labels = self._validate_training(X, y, reset=fresh)
        if not fresh:
            self._learn(points, labels, classes)
            return self
        self.columns_ = self._column_names()
        try:
            self._check_columns()
            self._learn(points, labels, classes)
        except BaseException:
            del self.columns_
            raise
        return self

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """One model of what `models` remember; parameters are those of the first.

        Streams that were learned side by side become one: what is young in its own stream is young in the whole. Where
        memory is bounded, the oldest leaves.
        """
        if not models:
            raise ValueError("there is no model to merge; give at least one")
        for model in models:
            if list(model.columns_) != list(models[0].columns_):
                raise ValueError(
                    f"the models know different features ({list(models[0].columns_)} and {list(model.columns_)}); "
                    "merge models that were fitted on the same columns"
                )
        whole = models[0].clone()
        classes = models[0].classes_
        for model in models[1:]:
            classes = extend_classes(classes, model.classes_)
        maps = [class_numbers(classes, model.classes_).tolist() for model in models]
        whole.model_ = type(models[0].model_).merge([model.model_ for model in models], maps, len(classes))
        whole.classes_ = classes
        whole.columns_ = dict(models[0].columns_)
        whole.n_features_in_ = models[0].n_features_in_
        if hasattr(models[0], "feature_names_in_"):
            whole.feature_names_in_ = models[0].feature_names_in_
        return whole

    @property
    def memory_bytes_(self) -> int:
        """Bytes of memory that the model holds."""
        return int(self.model_.own_bytes)

    # -- what the contract asks --------------------------------------------------------------------------------------

    def _answer(
        self, queries: NDArray[np.float64], budget: Budget
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        proba = np.empty((len(queries), len(self.classes_)))
        steps = np.empty(len(queries), dtype=np.int64)
        certified = np.empty(len(queries), dtype=np.uint8)
        self.model_.answer(self._query_settings(), queries, *budget.limits(), self._threads(), proba, steps, certified)
        return proba, steps, certified.astype(np.bool_)

    def _staged_proba(self, queries: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        out = np.empty((len(queries), len(stages), len(self.classes_)))
        self.model_.answer_in_stages(self._query_settings(), queries, stages, self._threads(), out.reshape(-1))
        for stage in range(len(stages)):
            yield out[:, stage]

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

    def _adopt(self, columns: dict[Hashable, int]) -> None:
        if not hasattr(self, "model_"):
            self.columns_ = columns
        elif columns is not self.columns_:
            before, self.columns_ = self.columns_, columns  # first: whoever widens may ask for the names
            try:
                self._widen(len(columns))
            except BaseException:
                self.columns_ = before
                raise

    def _widen(self, n_features: int) -> None:
        self._widen_model(n_features)
        self.n_features_in_ = n_features
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

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

    def _threads(self) -> int:
        if self.n_jobs is None or self.n_jobs == -1:
            return 0
        try:
            return whole_number("n_jobs", self.n_jobs, 1)
        except ValueError:
            raise ValueError(f"n_jobs is {self.n_jobs!r}; use 1 or more threads, or None or -1 for all cores") from None

    def _column_names(self) -> dict[Any, int]:
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return {name: column for column, name in enumerate(names)}


class StreamQuery(NativeQuery):
    """One record and what was found about it so far."""

    __slots__ = ()

    @property
    def certified(self) -> bool:
        """Whether no further step could change the label."""
        return bool(self._native.certified)

    @property
    def state(self) -> bytes:
        """The steps so far, as bytes."""
        state: bytes = self._native.state()
        return state


def whole_number(name: str, value: object, least: int = 0) -> int:
    """A parameter that must be a whole number from `least` on."""
    if type(value) is int and least <= value <= 2**62:
        return value  # at once: this is asked for every record
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} is {value!r}; use a whole number from {least} on")
    return min(int(value), 2**62)


def real_number(name: str, value: object) -> float:
    """A parameter that must be a number."""
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} is {value!r}; use a number")
    return float(value)
