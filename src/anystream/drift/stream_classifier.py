"""What the classifiers of this room share: scikit-learn's surface and river's around three methods."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from anystream.anytime.base import LARGEST
from anystream.anytime.budget import Budget
from anystream.anytime.class_labels import class_numbers, extend_classes
from anystream.anytime.river_face import RiverFaceMixin


class StreamClassifier(RiverFaceMixin, ClassifierMixin, BaseEstimator):
    """A classifier that learns records in their order, under scikit-learn's names and river's.

    Learning a batch is learning its records one by one. Labels that were never seen before become classes at any time;
    known classes keep their places in `classes_`.
    """

    budget: int = 0  # answers are given whole: there is nothing that a budget could shorten
    classes_: NDArray[Any]
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

    def _finish(self) -> None:
        """What is left to do when `fit` has handed over all its records."""

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
        rows, labels = self._validate_records(X, y, reset=True)
        classes, numbers = np.unique(labels, return_inverse=True)
        self._begin(rows.shape[1])
        self._name_columns()
        self._learn(rows, numbers.astype(np.int32), len(classes))
        self._finish()
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
        rows, labels = self._validate_records(X, y, reset=fresh)
        known = getattr(self, "classes_", None)
        if classes is not None:
            known = extend_classes(known, classes)
        known = extend_classes(known, labels)
        if fresh:
            self._begin(rows.shape[1])
            self._name_columns()
        self._learn_under(known, rows, labels)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likeliest class of each record of shape (n_features,); the first of equals."""
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes for each record, in the order of `classes_`."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, order="C", ensure_all_finite=self._finite_rule(), reset=False)
        return self._proba(np.asarray(rows), len(self.classes_))

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

    def _proba_row(self, row: NDArray[np.float64]) -> list[float]:
        return self._proba(row[np.newaxis], len(self.classes_))[0].tolist()  # type: ignore[no-any-return]

    def _label_row(self, row: NDArray[np.float64]) -> int:
        return int(self._proba(row[np.newaxis], len(self.classes_))[0].argmax())

    def _widen(self, n_features: int) -> None:
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)

    @property
    def memory_bytes_(self) -> int:
        """Bytes that the model takes when it is pickled, which is close to what it holds in memory."""
        check_is_fitted(self)
        return len(pickle.dumps(self))

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    # -- validation ------------------------------------------------------------------------------------------------

    def _finite_rule(self) -> bool | str:
        return "allow-nan" if self.__sklearn_tags__().input_tags.allow_nan else True

    def _validate_records(self, X: ArrayLike, y: ArrayLike, *, reset: bool) -> tuple[NDArray[np.float64], NDArray[Any]]:
        rows, labels = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            order="C",
            ensure_all_finite=self._finite_rule(),
            ensure_min_features=1,
            reset=reset,
        )
        check_classification_targets(labels)
        if rows.size and np.nanmax(np.abs(rows), initial=0.0) > LARGEST:
            raise ValueError(f"a feature is larger than {LARGEST:g}; rescale the data")
        return np.asarray(rows), column_or_1d(labels)

    def _name_columns(self) -> None:
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        self.columns_ = {name: column for column, name in enumerate(names)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def stacked(blocks: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Blocks of rows as one; columns that a block does not have yet are missing (NaN) in it."""
    given = list(blocks)
    width = max(block.shape[1] for block in given)
    if all(block.shape[1] == width for block in given):
        return np.vstack(given)
    return np.vstack([np.pad(b, ((0, 0), (0, width - b.shape[1])), constant_values=np.nan) for b in given])


def whole(name: str, value: object, *, least: int = 1) -> int:
    """`value` as a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} is {value!r}; use a whole number from {least} on")
    return int(value)


def share(name: str, value: object, *, open_ends: bool = False) -> float:
    """`value` as a number from 0 to 1, the ends left out if `open_ends`."""
    ends = "between 0 and 1" if open_ends else "from 0 to 1"
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise ValueError(f"{name} is {value!r}; use a number {ends}")
    if open_ends and value in (0, 1):
        raise ValueError(f"{name} is {value!r}; use a number {ends}")
    return float(value)


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """`value`, which must be one of the words."""
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; use one of {', '.join(map(repr, allowed))}")
    return str(value)
