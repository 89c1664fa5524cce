"""Any classifier as an evaluation sees it: it answers rows and learns rows."""

from __future__ import annotations

import inspect
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import BudgetLike


class Learner(Protocol):
    """What answers and learns."""

    def answer(self, rows: NDArray[np.float64]) -> list[Any]:
        """A label for each row; None where there is none yet."""
        ...

    def learn(self, rows: NDArray[np.float64], labels: NDArray[Any]) -> None:
        """Learn rows in their order."""
        ...


class BatchLearner:
    """A classifier with `partial_fit` and `predict`."""

    def __init__(self, model: Any, budget: BudgetLike, classes: NDArray[Any] | None) -> None:
        self._model = model
        self._told = {} if budget is None else {"budget": budget}
        self._classes = classes if "classes" in inspect.signature(model.partial_fit).parameters else None
        self._begun = hasattr(model, "classes_")

    def answer(self, rows: NDArray[np.float64]) -> list[Any]:
        """A label for each row; None before anything was learned."""
        if not self._begun:
            return [None] * len(rows)
        return np.asarray(self._model.predict(rows, **self._told)).tolist()  # type: ignore[no-any-return]

    def learn(self, rows: NDArray[np.float64], labels: NDArray[Any]) -> None:
        """Learn rows in their order; the first time all classes are named, for those who ask for them."""
        if self._classes is not None and not self._begun:
            self._model.partial_fit(rows, labels, classes=self._classes)
        else:
            self._model.partial_fit(rows, labels)
        self._begun = True


class OneByOneLearner:
    """A classifier with `learn_one` and `predict_one`: river's, and ours when records come singly."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def answer(self, rows: NDArray[np.float64]) -> list[Any]:
        """A label for each row; None where there is none yet."""
        return [self._model.predict_one(dict(enumerate(row))) for row in rows.tolist()]

    def learn(self, rows: NDArray[np.float64], labels: NDArray[Any]) -> None:
        """Learn rows in their order."""
        for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
            self._model.learn_one(dict(enumerate(row)), label)


def as_learner(
    model: Any, *, budget: BudgetLike = None, classes: NDArray[Any] | None = None, singly: bool = False
) -> Learner:
    """A classifier of scikit-learn's surface or river's, ready to be run.

    Parameters
    ----------
    model : classifier
        With `partial_fit` and `predict`, or with `learn_one` and `predict_one`.
    budget : int, timedelta or Budget, optional
        Passed on to an anytime classifier with each question.
    classes : array, optional
        All classes, for classifiers that want to know them at their beginning.
    singly : bool, default=False
        Records come one at a time: a classifier of both surfaces then uses river's, which is made for it.
    """
    takes_batches = hasattr(model, "partial_fit") and hasattr(model, "predict")
    takes_records = hasattr(model, "learn_one") and hasattr(model, "predict_one")
    if not (takes_batches or takes_records):
        raise TypeError(
            f"{type(model).__name__} cannot learn from a stream; give a classifier with partial_fit and predict, "
            "or with learn_one and predict_one"
        )
    if budget is not None and not (takes_batches and "budget" in inspect.signature(model.predict).parameters):
        raise TypeError(f"{type(model).__name__} takes no budget; leave it out, or give an anytime classifier")
    if takes_records and budget is None and (singly or not takes_batches):
        return OneByOneLearner(model)
    return BatchLearner(model, budget, classes)
