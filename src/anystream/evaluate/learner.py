"""Adapters that give classifiers with the scikit-learn or the river API one interface for evaluation."""

from __future__ import annotations

import inspect
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import BudgetLike


class Learner(Protocol):
    """A classifier that predicts and learns batches of records."""

    def predict(self, records: NDArray[np.float64]) -> list[Any]:
        """Return a label for each record; None where the classifier does not have one yet."""
        ...

    def learn(self, records: NDArray[np.float64], labels: NDArray[Any]) -> None:
        """Learn records in order."""
        ...


class BatchLearner:
    """A classifier with `partial_fit` and `predict`."""

    def __init__(self, model: Any, budget: BudgetLike, classes: NDArray[Any] | None) -> None:
        self._model = model
        self._predict_options = {} if budget is None else {"budget": budget}
        self._classes = classes if "classes" in inspect.signature(model.partial_fit).parameters else None
        self._fitted = hasattr(model, "classes_")

    def predict(self, records: NDArray[np.float64]) -> list[Any]:
        """Return a label for each record; None before anything was learned."""
        if not self._fitted:
            return [None] * len(records)
        return np.asarray(self._model.predict(records, **self._predict_options)).tolist()  # type: ignore[no-any-return]

    def learn(self, records: NDArray[np.float64], labels: NDArray[Any]) -> None:
        """Learn records in order; the first call passes all classes if `partial_fit` takes them."""
        if self._classes is not None and not self._fitted:
            self._model.partial_fit(records, labels, classes=self._classes)
        else:
            self._model.partial_fit(records, labels)
        self._fitted = True


class OneByOneLearner:
    """A classifier with `learn_one` and `predict_one`."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def predict(self, records: NDArray[np.float64]) -> list[Any]:
        """Return a label for each record; None where the classifier does not have one yet."""
        return [self._model.predict_one(dict(enumerate(record))) for record in records.tolist()]

    def learn(self, records: NDArray[np.float64], labels: NDArray[Any]) -> None:
        """Learn records in order."""
        for record, label in zip(records.tolist(), labels.tolist(), strict=True):
            self._model.learn_one(dict(enumerate(record)), label)


def as_learner(
    model: Any, *, budget: BudgetLike = None, classes: NDArray[Any] | None = None, one_by_one: bool = False
) -> Learner:
    """Return an adapter for a classifier with the scikit-learn or the river API.

    Parameters
    ----------
    model : classifier
        With `partial_fit` and `predict`, or with `learn_one` and `predict_one`.
    budget : int, timedelta or Budget, optional
        Passed to each `predict` of an anytime classifier.
    classes : array, optional
        All classes, for classifiers whose `partial_fit` takes them.
    one_by_one : bool, default=False
        Whether records come one at a time. A classifier that has both APIs then uses river's, which is faster for
        single records.
    """
    has_batch_api = hasattr(model, "partial_fit") and hasattr(model, "predict")
    has_single_api = hasattr(model, "learn_one") and hasattr(model, "predict_one")
    if not (has_batch_api or has_single_api):
        raise TypeError(
            f"{type(model).__name__} cannot learn from a stream; give a classifier with partial_fit and predict, "
            "or with learn_one and predict_one"
        )
    if budget is not None and not (has_batch_api and "budget" in inspect.signature(model.predict).parameters):
        raise TypeError(f"{type(model).__name__} does not take a budget; omit it, or give an anytime classifier")
    if has_single_api and budget is None and (one_by_one or not has_batch_api):
        return OneByOneLearner(model)
    return BatchLearner(model, budget, classes)
