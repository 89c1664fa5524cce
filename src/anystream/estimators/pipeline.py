"""The anytime contract for scikit-learn's pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from anystream.anytime.answer import Answer, BatchResult
from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.classifier import AnytimeClassifier
from anystream.anytime.dense import to_dense
from anystream.anytime.query import Query


class AnytimePipeline(AnytimeClassifier):
    """Pipeline of transformers and an anytime classifier that is an anytime classifier itself.

    Records are transformed first; budgets, queries, stages and deadlines are those of the classifier. The time of the
    transformation counts for budgets in seconds.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
        Transformers, and an anytime classifier as the last step. `fit` fits a copy.

    Attributes
    ----------
    pipeline_ : sklearn.pipeline.Pipeline
        The fitted pipeline.
    classes_ : array of shape (n_classes,)
        The class labels of the classifier.

    Notes
    -----
    `partial_fit` learns further records in the classifier; the transformers stay as `fit` learned them.

    Examples
    --------
    >>> from anystream import BayesTreeClassifier, anytime_curve
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AnytimePipeline(make_pipeline(StandardScaler(), BayesTreeClassifier())).fit(X[::2], y[::2])
    >>> bool(anytime_curve(model, X[1::2], y[1::2], stages=[0, 20]).accuracy.min() > 0.9)
    True
    >>> int(model.query(X[0]).refine(5).label)
    0
    """

    pipeline_: Pipeline

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit a copy of the pipeline; if it fails, the model stays as it was."""
        if not isinstance(self.pipeline, Pipeline):
            raise TypeError(f"pipeline is a {type(self.pipeline).__name__}; pass a scikit-learn Pipeline")
        _last_step(self.pipeline)
        self.pipeline_ = clone(self.pipeline).fit(X, y)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn further records in the classifier; call `fit` before, which also fits the transformers."""
        check_is_fitted(self)
        classifier = self._classifier()
        if not hasattr(classifier, "partial_fit"):
            raise AttributeError(f"{type(classifier).__name__} has no partial_fit; use fit")
        classifier.partial_fit(self._transform(X), y, classes=classes)
        return self

    @property
    def budget(self) -> int:  # type: ignore[override]  # of the classifier, not a parameter
        """Steps per record for calls without a budget of their own."""
        return _last_step(self.pipeline_ if hasattr(self, "pipeline_") else self.pipeline).budget

    @property
    def classes_(self) -> NDArray[Any]:  # type: ignore[override]  # of the classifier: they may grow
        """Class labels."""
        return self._classifier().classes_

    @property
    def n_features_in_(self) -> int:  # type: ignore[override]  # of the first step
        """Number of features of a record before it is transformed."""
        return int(self.pipeline_.n_features_in_)

    def _classifier(self) -> AnytimeClassifier:
        if not hasattr(self, "pipeline_"):
            raise AttributeError("pipeline_")  # not fitted
        return _last_step(self.pipeline_)

    def _transform(self, X: Any) -> Any:
        return self.pipeline_[:-1].transform(X)

    # -- classifying: transform, then as the classifier ----------------------------------------------------------------

    def classify(self, X: ArrayLike, *, budget: BudgetLike = None) -> Answer:
        """Transform and classify records; as `AnytimeClassifier.classify`."""
        check_is_fitted(self)
        limits = (Budget(steps=self.budget) if budget is None else Budget.of(budget)).start()
        return self._classifier().classify(self._transform(X), budget=limits)

    def staged_predict_proba(
        self, X: ArrayLike, *, stages: Sequence[int] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Transform records and yield their probabilities after each of `stages` steps."""
        check_is_fitted(self)
        return self._classifier().staged_predict_proba(self._transform(X), stages=stages)

    def query(self, x: Any = None, *, state: Any = None) -> Query:
        """Return a query on one record, which is transformed, or on the `state` of an earlier query.

        Parameters
        ----------
        x : array-like of shape (n_features,), or table of one row, optional
            The record. Transformers that use column names need a data frame.
        state : optional
            The `state` of an earlier query of this model, instead of `x`.
        """
        check_is_fitted(self)
        if x is None or state is not None:
            return self._classifier().query(x, state=state)
        transformed = to_dense(self._transform(x if np.ndim(x) == 2 else [x]))
        if len(transformed) != 1:
            raise ValueError(f"a query takes one record, these are {len(transformed)}; use classify for a batch")
        return self._classifier().query(np.asarray(transformed)[0])

    # -- hooks: records are transformed already ------------------------------------------------------------------------

    def classify_records(self, records: NDArray[np.float64], budget: Budget) -> BatchResult:
        """Classify transformed records."""
        return self._classifier().classify_records(records, budget)

    def staged_proba(self, records: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Classify transformed records in stages."""
        return self._classifier().staged_proba(records, stages)

    def open_query(self, record: NDArray[np.float64]) -> Query:
        """Open a query on a transformed record."""
        return self._classifier().open_query(record)

    def resume_query(self, state: Any) -> Query:
        """Resume a query of the classifier."""
        return self._classifier().resume_query(state)

    def allows_missing(self) -> bool:
        """Whether the transformers or the classifier accept missing values."""
        return bool(self.pipeline.__sklearn_tags__().input_tags.allow_nan)

    def marks_confident(self) -> bool:
        """Whether the classifier marks answers as confident."""
        return _last_step(self.pipeline).marks_confident()

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` was called."""
        return hasattr(self, "pipeline_")

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the pipeline."""
        return self.pipeline.__sklearn_tags__()


def _last_step(pipeline: Pipeline) -> AnytimeClassifier:
    last = pipeline.steps[-1][1]
    if not isinstance(last, AnytimeClassifier):
        raise TypeError(f"the last step of the pipeline is {last!r}; use an anytime classifier")
    return last
