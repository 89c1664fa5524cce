"""Anytime classifiers written in Python: three short methods make a classifier with budgets, stages and queries."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.query import Query
from anystream.estimators.classifier import TrainedClassifier
from anystream.estimators.query_batch import batch_result, refine_batch


class StepwiseClassifier(TrainedClassifier, abstract=True):
    """Classifier that a subclass describes by three functions of a state: its start, its next step, its probabilities.

    A state is any picklable value that is never changed in place, such as a tuple. A subclass also defines
    `fit_records` (see `TrainedClassifier`) and a constructor with a parameter `budget`. Every step is a Python call;
    to be faster, write an `AnytimeClassifier` over native code.

    Examples
    --------
    A nearest-neighbour classifier that compares one training record per step:

    >>> class Nearest(StepwiseClassifier):
    ...     def __init__(self, *, budget=10):
    ...         self.budget = budget
    ...
    ...     def fit_records(self, records, numbers, n_classes):
    ...         self.records_, self.numbers_, self.n_classes_ = records, numbers, n_classes
    ...
    ...     def start(self, record):
    ...         return record, 0, np.inf, 0
    ...
    ...     def next_state(self, state):
    ...         record, i, best, label = state
    ...         if i == len(self.records_):
    ...             return None
    ...         distance = np.nansum((record - self.records_[i]) ** 2)
    ...         return (record, i + 1, *((distance, self.numbers_[i]) if distance < best else (best, label)))
    ...
    ...     def proba_of(self, state):
    ...         return np.eye(self.n_classes_)[state[3]]
    >>> model = Nearest().fit([[0.0], [4.0], [9.0]], ["low", "middle", "high"])
    >>> [str(model.query([8.5]).refine(steps).label) for steps in (1, 2, 3)]
    ['low', 'middle', 'high']
    """

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    @abstractmethod
    def start(self, record: NDArray[np.float64]) -> Any:
        """Return the state before the first step, which gives the label at budget 0."""

    @abstractmethod
    def next_state(self, state: Any) -> Any | None:
        """Return the state after one more step, or None if no step is left."""

    @abstractmethod
    def proba_of(self, state: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes in this state; they sum to 1."""

    # -- classifying -------------------------------------------------------------------------------------------------

    def classify_records(self, records: NDArray[np.float64], budget: Budget) -> BatchResult:
        """Classify records in Python; under a deadline they advance in rounds."""
        queries = refine_batch(records, self.open_query, budget)
        proba = [query.proba for query in queries]
        return batch_result(queries, proba, (len(records), len(self.classes_)))

    def staged_proba(self, records: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Refine all records from stage to stage."""
        queries = [self.open_query(record) for record in records]
        for stage in stages.tolist():
            yield np.array([query.refine(stage - query.steps).proba for query in queries])

    def open_query(self, record: NDArray[np.float64]) -> StepwiseQuery:
        """Return a query in its first state."""
        if len(record) != self.n_features_in_:
            raise ValueError(
                f"the record has {len(record)} features, fit saw {self.n_features_in_}; pass the same columns"
            )
        if np.isinf(record).any() or (not self.allows_missing() and np.isnan(record).any()):
            raise ValueError("a record holds an infinite or missing value; this classifier needs finite numbers")
        return self._query(self.start(record), 0)

    def resume_query(self, state: Any) -> StepwiseQuery:
        """Return the query that had this state."""
        if not (isinstance(state, tuple) and len(state) == 2 and type(state[1]) is int and state[1] >= 0):
            raise TypeError(f"state is a {type(state).__name__}; use the `state` of a query of this model")
        return self._query(*state)

    def _query(self, state: Any, steps: int) -> StepwiseQuery:
        frozen = copy.copy(self)  # keeps what was learned so far, even if this model is fitted again
        return StepwiseQuery(self.classes_, frozen.next_state, frozen.proba_of, state, steps)


class StepwiseQuery(Query):
    """One record and its state.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        Class labels.
    next_state, proba_of : callable
        See `StepwiseClassifier`.
    state : object
        The present state.
    steps : int
        Steps taken so far.
    """

    __slots__ = ("_classes", "_next_state", "_proba_of", "_progress")

    def __init__(
        self,
        classes: NDArray[Any],
        next_state: Callable[[Any], Any | None],
        proba_of: Callable[[Any], NDArray[np.float64]],
        state: Any,
        steps: int,
    ) -> None:
        self._classes = classes
        self._next_state = next_state
        self._proba_of = proba_of
        # The state, the steps and whether none is left (None: unknown until the next step is tried); replaced as a
        # whole, so that other threads can read it.
        self._progress: tuple[Any, int, bool | None] = state, steps, None

    def refine(self, budget: BudgetLike = None) -> Self:
        """Take steps within `budget` (None: until nothing is left to do); return the query itself."""
        limits = Budget.of(budget).start()
        last = None if limits.steps is None else self.steps + limits.steps
        while (last is None or self.steps < last) and not self._progress[2]:
            if limits.timed and limits.is_over():
                break
            self._step()
        return self

    def _step(self) -> None:
        state, steps, _ = self._progress
        following = self._next_state(state)
        self._progress = (state, steps, True) if following is None else (following, steps + 1, None)

    @property
    def label(self) -> Any:
        """The most probable class so far."""
        return self._classes[self.proba.argmax()]

    @property
    def proba(self) -> NDArray[np.float64]:
        """Probabilities of the classes so far, in the order of the classifier's `classes_`."""
        return np.asarray(self._proba_of(self._progress[0]), dtype=np.float64)

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return self._progress[1]

    @property
    def certified(self) -> bool:
        """Whether no step is left."""
        return self.exhausted

    @property
    def exhausted(self) -> bool:
        """Whether no step is left."""
        state, _, exhausted = self._progress
        return self._next_state(state) is None if exhausted is None else exhausted

    @property
    def state(self) -> tuple[Any, int]:
        """The state and the number of steps."""
        return self._progress[:2]
