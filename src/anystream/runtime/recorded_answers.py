"""Answers of a model to a table of records, recorded once for every number of steps, for simulations."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anystream.anytime.answer import Answer
from anystream.anytime.budget import Budget


class RecordedAnswers:
    """A model whose only feature is the number of a record, and whose answers are those of another model.

    It takes as many steps as the recorded model would, so schedules are the same, and costs a look-up. Record 0 is the
    record of zeros that the engine warms up with; record i + 1 is row i of the table.

    Parameters
    ----------
    stops : array of shape (n_rows + 1,)
        Number of steps after which the model stops by itself, or the maximum that was recorded.
    settled : array of shape (n_rows + 1,)
        Whether it stops there because more steps change nothing.
    right : array of shape (n_rows, n_steps + 1), optional
        Whether the label is right after 0, 1, 2, … steps; None without labels.
    """

    def __init__(
        self, stops: NDArray[np.int64], settled: NDArray[np.bool_], right: NDArray[np.bool_] | None = None
    ) -> None:
        if right is not None and len(right) + 1 != len(stops):
            raise ValueError(f"{len(stops)} records have stops and {len(right)} have labels; give one label per row")
        self.classes_ = np.zeros(1, dtype=np.int64)
        self.n_features_in_ = 1
        self._stops = stops
        self._settled = settled
        self._right = right

    @classmethod
    def record(cls, model: Any, X: NDArray[np.float64], y: ArrayLike | None = None, *, max_steps: int) -> Self:
        """Classify every row of a table with 0 to `max_steps` steps.

        Parameters
        ----------
        model : anytime classifier
            A fitted one.
        X, y : array
            Typical records, and their labels if known.
        max_steps : int
            Maximum number of steps that the simulation may take.
        """
        if len(X) == 0:
            raise ValueError("the table has no records; give at least one")
        answer = model.classify(np.vstack([np.zeros((1, X.shape[1])), X]), budget=Budget(steps=max_steps))
        if y is None:
            return cls(answer.steps, answer.settled)
        labels = np.asarray(y)
        staged = model.staged_predict(X, stages=range(max_steps + 1))
        right = np.column_stack([np.asarray(predicted) == labels for predicted in staged])
        return cls(answer.steps, answer.settled, right)

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return len(self._stops) - 1

    @property
    def has_labels(self) -> bool:
        """Whether it is known which answers are right."""
        return self._right is not None

    def right(self, rows: NDArray[np.int64], steps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether the answers to rows of the table are right after so many steps each."""
        if self._right is None:
            raise ValueError("the table has no labels; give them when recording")
        return np.asarray(self._right[rows, np.minimum(steps, self._right.shape[1] - 1)])

    def classify(self, X: NDArray[np.float64], *, budget: Budget) -> Answer:
        """Return the steps of the recorded answers; all of them have the one label."""
        numbers = X[:, 0].astype(np.int64)
        stops = self._stops[numbers]
        steps = stops if budget.steps is None else np.minimum(stops, budget.steps)
        settled = self._settled[numbers] & (steps == stops)
        labels = np.zeros(len(numbers), dtype=np.int64)
        return Answer(labels, np.ones((len(numbers), 1)), steps, settled, 0.0)
