"""What the classifiers of this room share: scikit-learn's surface, river's and the anytime contract."""

from __future__ import annotations

import copy
import pickle
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from anystream.anytime.base import AnytimeClassifierMixin
from anystream.anytime.budget import Budget
from anystream.anytime.class_labels import class_numbers, extend_classes
from anystream.anytime.query import Query
from anystream.anytime.river_face import RiverFaceMixin
from anystream.anytime.undo import as_it_was_on_error
from anystream.drift.decided_query import DecidedQuery
from anystream.drift.file import model_from_file, model_to_file
from anystream.model_file import ModelFile


class Absent:
    """A method that a classifier does not have though its base class does; asking for it says why."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __get__(self, model: Any, owner: type) -> Any:
        raise AttributeError(f"{owner.__name__} has no such method: {self._why}")


class DriftClassifier(AnytimeClassifierMixin, RiverFaceMixin, ClassifierMixin, BaseEstimator):
    """A classifier that learns records in their order, under scikit-learn's names and river's.

    Learning a batch is learning its records one by one. Labels that were never seen before become classes at any time;
    known classes keep their places in `classes_`.

    Answers are given whole, at budget 0 and at any other, unless a classifier says otherwise: they take no steps.
    """

    budget: int = 0  # there is nothing that a budget could shorten
    classes_: NDArray[Any]
    columns_: dict[Any, int]
    n_features_in_: int

    # -- for classifiers -------------------------------------------------------------------------------------------

    @abstractmethod
    def _begin(self, n_features: int) -> None:
        """Check the parameters, then forget everything."""

    @abstractmethod
    def _learn(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn records one after another; `numbers` are below `n_classes`, which never falls."""

    @abstractmethod
    def _proba(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Probabilities of the classes for each record."""

    def _check_parameters(self) -> None:
        copy.copy(self)._begin(1)

    def _finish(self, n_classes: int) -> None:
        """What is left to do when `fit` has handed over all its records."""

    @abstractmethod
    def _learned(self) -> tuple[dict[str, int], dict[str, NDArray[Any]], list[ModelFile]]:
        """What a model file keeps of what was learned: numbers, arrays, and parts such as members."""

    @abstractmethod
    def _recall(self, file: ModelFile, parts: list[ModelFile], *, mapped: bool) -> None:
        """Take back what `_learned` gave, every value checked; `_begin` was called, classes and columns are there."""

    merge = Absent("models of different streams make no model of the whole; use WCEA, which weighs its members anew")

    # -- scikit-learn ----------------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn records in their order, from nothing.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records, the oldest first.
        y : array-like of shape (n_records,)
            Their classes.
        """
        with as_it_was_on_error(self):
            rows, labels = self._validate_training(X, y, reset=True)
            classes, numbers = np.unique(labels, return_inverse=True)
            self._begin(rows.shape[1])
            self.columns_ = self._column_names()
            self._learn(rows, numbers.astype(np.int32), len(classes))
            self._finish(len(classes))
            self.classes_ = classes
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn further records; a new model begins with them.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records, the oldest first.
        y : array-like of shape (n_records,)
            Their classes; new ones may appear at any time.
        classes : array-like, optional
            Classes that may come later, so that `classes_` is complete from the beginning.
        """
        fresh = not hasattr(self, "classes_")
        rows, labels = self._validate_training(X, y, reset=fresh)
        known = getattr(self, "classes_", None)
        if classes is not None:
            known = extend_classes(known, classes)
        known = extend_classes(known, labels)
        if fresh:
            self._begin(rows.shape[1])
            self.columns_ = self._column_names()
        self._learn_under(known, rows, labels)
        return self

    # -- river -----------------------------------------------------------------------------------------------------

    def _learn_rows(self, rows: NDArray[np.float64], labels: NDArray[Any]) -> None:
        if len(labels) == 1 and hasattr(self, "classes_"):
            place = np.flatnonzero(self.classes_ == labels[0])
            if len(place):  # the usual case: one more record of a known class
                self._learn(rows, place[:1].astype(np.int32), len(self.classes_))
                return
        first = np.sort(np.unique(labels, return_index=True)[1])
        known = getattr(self, "classes_", labels[:0])
        for label in labels[first]:  # by appearance, not by name: so ties fall alike for a batch and its records
            known = extend_classes(known, [label])
        if not hasattr(self, "classes_"):
            self._begin(rows.shape[1])
            self.n_features_in_ = rows.shape[1]
        self._learn_under(known, rows, labels)

    def _learn_under(self, known: NDArray[Any], rows: NDArray[np.float64], labels: NDArray[Any]) -> None:
        """Learn records; whoever answers in another thread meanwhile already has a place for every class."""
        before = getattr(self, "classes_", None)
        self.classes_ = known
        try:
            self._learn(rows, class_numbers(known, labels), len(known))
        except BaseException:
            if before is None:
                del self.classes_
            else:
                self.classes_ = before
            raise

    def _answer(
        self, queries: NDArray[np.float64], budget: Budget
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        n = len(queries)
        return self._proba(queries, len(self.classes_)), np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.bool_)

    def _staged_proba(self, queries: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        proba = self._proba(queries, len(self.classes_))
        for _ in stages:
            yield proba.copy()

    def _open_query(self, row: NDArray[np.float64]) -> Query:
        rows = self._checked_row(row)[np.newaxis]
        return DecidedQuery(self.classes_, self._proba(rows, len(self.classes_))[0])

    def _resume_query(self, state: Any) -> Query:
        return DecidedQuery.resume(self.classes_, state)

    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return model_to_file(self)

    @classmethod
    def _from_file(cls, file: ModelFile, *, mapped: bool) -> Self:
        return model_from_file(cls, file, mapped=mapped)

    def _proba_row(self, row: NDArray[np.float64]) -> list[float]:
        return self._proba(row[np.newaxis], len(self.classes_))[0].tolist()  # type: ignore[no-any-return]

    def _label_row(self, row: NDArray[np.float64]) -> int:
        return int(self._proba(row[np.newaxis], len(self.classes_))[0].argmax())

    def _widen(self, n_features: int) -> None:
        """Nothing to do: what was learned leaves out columns that it has not seen."""

    @property
    def memory_bytes_(self) -> int:
        """Bytes that the model takes when it is pickled, which is close to what it holds in memory."""
        check_is_fitted(self)
        return len(pickle.dumps(self))

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    # -- validation ------------------------------------------------------------------------------------------------

    def _takes_missing_values(self) -> bool:
        return bool(self.__sklearn_tags__().input_tags.allow_nan)

    def _checked_row(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(row) != self.n_features_in_:
            raise ValueError(
                f"the record has {len(row)} features, fit saw {self.n_features_in_}; pass the same columns"
            )
        if np.isinf(row).any():
            raise ValueError("a record holds an infinite value; use NaN for a missing one")
        return row


def stacked(blocks: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Blocks of rows as one; columns that a block does not have yet are missing (NaN) in it."""
    given = list(blocks)
    width = max(block.shape[1] for block in given)
    return np.vstack([padded(block, width) for block in given])


def padded(rows: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Rows of `width` columns; those that are not there yet are missing (NaN)."""
    if rows.shape[1] == width:
        return rows
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=np.nan)
