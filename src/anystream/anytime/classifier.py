"""Base class of all anytime classifiers: scikit-learn's surface, budgets and queries."""

from __future__ import annotations

import time
from abc import ABCMeta, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from anystream.anytime.answer import Answer, BatchResult, Unread, most_probable, take_label
from anystream.anytime.blocks import block_length, classify_in_blocks
from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.dense import to_dense
from anystream.anytime.feature_values import check_feature_values
from anystream.anytime.named_record import named_record
from anystream.anytime.query import Query
from anystream.anytime.stages import check_stages

if TYPE_CHECKING:
    from anystream.anytime.profile import PerformanceProfile

_FINISH_S = 2e-4  # before a deadline: time to put an answer together, and for a last step that takes longer than most


class AnytimeClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Classifier that keeps the anytime contract on top of scikit-learn's estimator API.

    A subclass has a constructor parameter `budget` (steps per record for calls without a budget of their own) and
    implements the abstract methods below; a missing one raises TypeError when the class is created. `fit` sets
    `classes_` and `n_features_in_`. At a budget in steps the result depends on the record and the model alone: not on
    the rest of the batch, the number of threads or the clock.

    Most classifiers inherit one of the templates in `anystream.estimators`, which add `fit`, `partial_fit`, saving and
    merging; `anystream.estimators.StepwiseClassifier` is the shortest way to write one in Python.
    """

    budget: int
    classes_: NDArray[Any]
    n_features_in_: int
    columns_: dict[Hashable, int]  # feature name or number -> column

    _reads_plain_arrays = True  # whether records and answers are those of this class: no subclass changes them

    def __init_subclass__(cls, *, abstract: bool = False, **kwargs: Any) -> None:
        """Raise TypeError if a class that is not declared with ``abstract=True`` lacks a hook."""
        super().__init_subclass__(**kwargs)
        own, base = (
            (cls.validate_records, cls.classify),
            (AnytimeClassifier.validate_records, AnytimeClassifier.classify),
        )
        cls._reads_plain_arrays = own == base
        missing = [name for name in dir(cls) if getattr(getattr(cls, name, None), "__isabstractmethod__", False)]
        if missing and not abstract:
            raise TypeError(
                f"{cls.__name__} does not define {', '.join(missing)}; define them, or declare the class with "
                "abstract=True if it is a base of others"
            )

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    @abstractmethod
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train from scratch."""

    @abstractmethod
    def classify_records(self, records: NDArray[np.float64], budget: Budget) -> BatchResult:
        """Return probabilities, steps and certificates of validated records."""

    @abstractmethod
    def staged_proba(self, records: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Yield the probabilities of validated records after each of the ascending numbers of steps."""

    @abstractmethod
    def open_query(self, record: NDArray[np.float64]) -> Query:
        """Return a query at budget 0. The record is one-dimensional; check its length and for infinite values here."""

    @abstractmethod
    def resume_query(self, state: Any) -> Query:
        """Return the query that had this `state`."""

    def classify_one(self, record: NDArray[np.float64], steps: int) -> int:
        """Return the class number of one validated record after at most `steps` steps.

        Define it where a single record can be classified at less cost than a batch of one; the result is the same.
        """
        return int(self.classify_records(record[np.newaxis], Budget(steps=steps)).proba[0].argmax())

    def proba_of_one(self, record: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
        """Return the probabilities of one validated record after at most `steps` steps, shape (1, n_classes).

        Define it where a single record can be classified at less cost than a batch of one; the result is the same.
        """
        return np.asarray(self.classify_records(record[np.newaxis], Budget(steps=steps)).proba)

    def allows_missing(self) -> bool:
        """Whether records may hold missing values (NaN)."""
        return True

    def marks_confident(self) -> bool:
        """Whether answers may be marked as `Answer.confident`; sinks with fixed columns then have one for it."""
        return False

    def prior_proba(self) -> NDArray[np.float64]:
        """Return the probabilities of the classes for a record that a deadline did not let the classifier reach.

        This default asks for a record of which nothing is known or, where records must be complete, gives all classes
        the same probability.
        """
        if not self.allows_missing():
            return np.full(len(self.classes_), 1.0 / len(self.classes_))
        nothing = np.full((1, self.n_features_in_), np.nan)
        prior: NDArray[np.float64] = self.classify_records(nothing, Budget(steps=0)).proba[0]
        return prior

    # -- batches -----------------------------------------------------------------------------------------------------

    def predict(self, X: ArrayLike, *, budget: BudgetLike = None) -> NDArray[Any]:
        """Return the most probable class of each record.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records; NaN stands for a missing value.
        budget : int, timedelta or Budget, optional
            Maximum work; an int is steps per record. Default: the parameter `budget`.
        """
        if (budget is None or (type(budget) is int and budget >= 0)) and self._is_one_record(X):
            model = self.pin()
            number = model.classify_one(X[0], model.budget if budget is None else budget)
            self.check_unchanged()
            return take_label(model.classes_, number)
        return self.classify(X, budget=budget).labels

    def predict_proba(self, X: ArrayLike, *, budget: BudgetLike = None) -> NDArray[np.float64]:
        """Return the class probabilities of each record, in the order of `classes_`; parameters as in `predict`."""
        if (budget is None or (type(budget) is int and budget >= 0)) and self._is_one_record(X):
            model = self.pin()
            proba = model.proba_of_one(X[0], model.budget if budget is None else budget)
            self.check_unchanged()
            return proba
        return self.classify(X, budget=budget).proba

    def predict_log_proba(self, X: ArrayLike, *, budget: BudgetLike = None) -> NDArray[np.float64]:
        """Return the logarithms of `predict_proba`; -inf where a probability is 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X, budget=budget)))

    def classify(self, X: ArrayLike, *, budget: BudgetLike = None) -> Answer:
        """Return labels and probabilities, the steps they took, and whether more steps could change the labels.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records; NaN stands for a missing value.
        budget : int, timedelta or Budget, optional
            Maximum work; an int is steps per record. Default: the parameter `budget`.
        """
        started = time.perf_counter()
        limits = (Budget(steps=self.budget) if budget is None else Budget.of(budget)).start()
        if not hasattr(self, "classes_"):  # quicker than scikit-learn's check
            check_is_fitted(self)
        length = None if limits.until is None else block_length(X, getattr(self, "n_jobs", 1))
        if length is not None and len(X) > length:  # type: ignore[arg-type]  # an array
            model = self.published()
            behind = model.describe_unread(len(model.classes_))  # before the deadline: few batches are so large
            blocks = classify_in_blocks(model, X, limits.end_early(_FINISH_S), length)  # type: ignore[arg-type]
            self.check_unchanged()
            n_read = sum(len(rows.labels) for rows in blocks)
            behind = behind._replace(n_behind=len(X) - n_read)  # type: ignore[arg-type]
            return Answer.of_blocks(blocks, time.perf_counter() - started, behind)
        model = self.pin()
        result = BatchResult(*model.classify_records(model.validate_records(X), limits.end_early(_FINISH_S)))
        labels = most_probable(model.classes_, result.proba)
        is_complete = result.reached is None or bool(result.reached.all())
        unread = None if is_complete else model.describe_unread(result.proba.shape[1])
        self.check_unchanged()
        proba, steps, certified, reached, confident = result
        return Answer(labels, proba, steps, certified, time.perf_counter() - started, reached, unread, confident)

    def describe_unread(self, n_classes: int) -> Unread:
        """Return label and probabilities, of so many classes, for records that a deadline did not let us reach."""
        prior = self.prior_proba()
        if len(prior) > n_classes:  # another thread has learned a new class since, which comes last
            known = prior[:n_classes]
            prior = known / known.sum() if known.any() else np.full(n_classes, 1.0 / n_classes)
        return Unread(most_probable(self.classes_, prior[np.newaxis])[0], prior)

    def staged_predict_proba(
        self, X: ArrayLike, *, stages: Sequence[int] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the probabilities after each of `stages` steps.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records; NaN stands for a missing value.
        stages : sequence of int, optional
            Ascending numbers of steps. Default: 0, 1, 2, ... up to the parameter `budget`, or to the attribute
            `max_steps_` of a model of which no record takes as many.

        Yields
        ------
        array of shape (n_records, n_classes)
            One for each stage.
        """
        check_is_fitted(self)
        last = min(self.budget, getattr(self, "max_steps_", self.budget))
        steps = check_stages(range(last + 1) if stages is None else stages)
        model = self.pin()
        yield from model.staged_proba(model.validate_records(X), steps)

    def staged_predict(self, X: ArrayLike, *, stages: Sequence[int] | None = None) -> Iterator[NDArray[Any]]:
        """Yield the labels after each of `stages` steps; see `staged_predict_proba`."""
        model = self.pin()
        for proba in model.staged_predict_proba(X, stages=stages):
            yield most_probable(model.classes_, proba)

    def performance_profile(
        self, X: Any, y: ArrayLike, *, cv: int = 5, stages: Sequence[int] | None = None, seed: int = 0
    ) -> PerformanceProfile:
        """Return the accuracy to expect after each number of steps; see `anystream.performance_profile`."""
        from anystream.anytime.profile import performance_profile  # here: importing anystream.anytime stays quick

        return performance_profile(self, X, y, cv=cv, stages=stages, seed=seed)

    # -- single records ----------------------------------------------------------------------------------------------

    def query(self, x: ArrayLike | Mapping[Any, Any] | None = None, *, state: Any = None) -> Query:
        """Return a query that classifies one record step by step.

        Parameters
        ----------
        x : array-like of shape (n_features,) or mapping, optional
            The record; NaN stands for a missing value. In a mapping from feature names to numbers, features that are
            not there are missing, and unknown ones are ignored.
        state : optional
            The `state` of an earlier query of this model, instead of `x`: the query continues from there.
        """
        if not hasattr(self, "classes_"):
            check_is_fitted(self)
        if (x is None) == (state is None):
            raise TypeError("query takes either a record or the state of an earlier query")
        model = self.pin()
        query = model.resume_query(state) if x is None else model.open_query(model.validate_record(x))
        query._model = model
        return query

    # -- other threads ---------------------------------------------------------------------------------------------

    def pin(self) -> Self:
        """Return a twin for one call that reads: it shares the attributes as they are now.

        Learning in another thread publishes its result by one assignment, of the whole ``__dict__``, which the twin
        does not see. Only a native model learns in place: it publishes itself, a few records at a time, and appends
        its new classes to `classes_` before. So read the native model first, and `classes_` after it.
        """
        twin = object.__new__(type(self))
        twin.__dict__ = self.__dict__
        return twin

    def check_unchanged(self) -> None:
        """Raise an error if what a call has read may have changed meanwhile: a memory-mapped file can."""

    def published(self) -> Self:
        """Return a twin to be copied or saved while another thread learns: its attributes are all of one moment.

        It has snapshots of native structures and shares the other attributes, so it must not learn.
        """
        twin = object.__new__(type(self))
        twin.__dict__ = self._published_attributes()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return self._published_attributes()

    def _published_attributes(self) -> dict[str, Any]:
        """Return the attributes as they are at one moment, with snapshots of those that learn in place.

        Learning sets attributes together with the native structure that they belong to. So the snapshots belong to the
        attributes if none of these was replaced while the snapshots were taken.
        """
        while True:
            before = self.__dict__.copy()
            attributes = {n: value.snapshot() if hasattr(value, "snapshot") else value for n, value in before.items()}
            now = self.__dict__.copy()
            if now.keys() == before.keys() and all(now[name] is value for name, value in before.items()):
                return attributes

    # -- validation --------------------------------------------------------------------------------------------------

    def validate_record(self, x: ArrayLike | Mapping[Any, Any]) -> NDArray[np.float64]:
        """Return one record as a one-dimensional array; `open_query` checks its length and values."""
        if isinstance(x, Mapping):
            return check_feature_values(named_record(x, self.columns_))
        record = np.ascontiguousarray(x, dtype=np.float64)
        if record.ndim != 1:
            raise ValueError(f"a query takes one record, this has the shape {record.shape}; use classify for a batch")
        return record

    def validate_records(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return records to classify as a C-contiguous float64 array of shape (n_records, n_features)."""
        if self._is_valid(X):
            return X
        X = to_dense(X)
        finite = "allow-nan" if self.allows_missing() else True
        return np.asarray(validate_data(self, X, dtype=np.float64, order="C", ensure_all_finite=finite, reset=False))

    def _is_one_record(self, X: ArrayLike) -> TypeGuard[NDArray[np.float64]]:
        """Whether X is a table of one record that passes all checks: it needs neither a batch nor an `Answer`."""
        return (
            type(X) is np.ndarray
            and X.ndim == 2
            and len(X) == 1
            and self._reads_plain_arrays
            and hasattr(self, "classes_")
            and self._is_valid(X)
        )

    def _is_valid(self, X: ArrayLike) -> TypeGuard[NDArray[np.float64]]:
        """Whether X passes all of scikit-learn's checks, which take longer than classifying a small batch."""
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X) > 0
            and X.shape[1] == self.n_features_in_
            and X.flags.c_contiguous
            and not hasattr(self, "feature_names_in_")
            and not np.count_nonzero(np.isinf(X) if self.allows_missing() else ~np.isfinite(X))
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.allows_missing()
        tags.input_tags.sparse = True
        return tags
