"""River's API by duck typing: records as dicts, one at a time.

This module does not import river. A classifier created while river is loaded is registered as a river classifier, so
that ``isinstance`` and river's evaluation accept it. It never inherits from river: its tags clash with scikit-learn's.
"""

from __future__ import annotations

import copy
import inspect
import math
import sys
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.feature_values import check_feature_values
from anystream.anytime.named_record import ENCODE, Columns, NamedRecord, named_record
from anystream.anytime.query import Query


class RiverPredictMixin:
    """`predict_one`, `predict_proba_one` and their mini-batch forms, for classifiers that do not learn incrementally.

    A record is a mapping from feature names to numbers. A feature that a record lacks is missing; one that the model
    does not have is ignored.
    """

    budget: int
    classes_: NDArray[Any]
    n_features_in_: int
    columns_: Columns  # feature name -> column, in order of appearance

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    @abstractmethod
    def classify_records(self, records: NDArray[np.float64], budget: Budget) -> BatchResult:
        """Return probabilities, steps and certificates of validated records."""

    @abstractmethod
    def classify_one(self, record: NDArray[np.float64], steps: int) -> int:
        """Return the class number of one record after at most `steps` steps."""

    @abstractmethod
    def proba_one(self, record: NDArray[np.float64]) -> list[float]:
        """Return the probabilities of one record at the default budget."""

    @abstractmethod
    def open_query(self, record: NDArray[np.float64]) -> Query:
        """Return a query at budget 0."""

    @abstractmethod
    def pin(self) -> Self:
        """Return a twin for one call that reads, which learning in another thread does not change."""

    # -- single records ----------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: NamedRecord, *, budget: BudgetLike = None) -> dict[Any, float]:
        """Return the probability of each class seen so far; empty before anything was learned.

        Parameters
        ----------
        x : mapping
            The record.
        budget : int, timedelta or Budget, optional
            Maximum work; an int is steps. Default: the parameter `budget`.
        """
        if not hasattr(self, "classes_"):
            return {}
        model = self.pin()
        record = named_record(x, model.columns_)
        refined = None if budget is None else model.open_query(record).refine(budget)
        proba = model.proba_one(record) if refined is None else refined.proba.tolist()
        return dict(zip(model.classes_[: len(proba)].tolist(), proba, strict=True))

    def predict_one(self, x: NamedRecord, *, budget: BudgetLike = None) -> Any:
        """Return the most probable class; None before anything was learned. Parameters as in `predict_proba_one`."""
        if not hasattr(self, "classes_"):
            return None
        model = self.pin()
        record = named_record(x, model.columns_)
        if budget is None or (type(budget) is int and budget >= 0):
            return model.classes_.item(model.classify_one(record, model.budget if budget is None else budget))
        label = model.open_query(record).refine(budget).label
        return label.item() if isinstance(label, np.generic) else label

    # -- mini-batches: data frames -----------------------------------------------------------------------------------

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probabilities of each row of a data frame, as a pandas data frame with the same index."""
        import pandas as pd

        index = getattr(X, "index", None)
        if not hasattr(self, "classes_"):
            return pd.DataFrame(index=index)
        model = self.pin()
        proba = model.classify_records(_as_records(X, model.columns_), Budget(steps=model.budget)).proba
        return pd.DataFrame(proba, index=index, columns=model.classes_[: proba.shape[1]].tolist())

    def predict_many(self, X: Any) -> Any:
        """Return the most probable class of each row of a data frame, as a pandas series with the same index."""
        import pandas as pd

        index = getattr(X, "index", None)
        if not hasattr(self, "classes_"):
            return pd.Series([None] * len(X), index=index, dtype="object")
        model = self.pin()
        proba = model.classify_records(_as_records(X, model.columns_), Budget(steps=model.budget)).proba
        return pd.Series(model.classes_[proba.argmax(axis=1)], index=index)


class RiverMixin(RiverPredictMixin):
    """`learn_one` and `learn_many` beside the predictions.

    Features may come and go: a feature that is new to the model becomes a new column, missing in all earlier records.

    Attributes
    ----------
    max_features : int
        Number of columns up to which records may add new ones; a record beyond it is refused, and changes nothing.
    """

    max_features: int = 10_000

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    @abstractmethod
    def learn_columns(self, records: NDArray[np.float64], labels: NDArray[Any], columns: Columns) -> None:
        """Learn records one after another. `columns` extends `columns_`; the records have that many features."""

    @property
    @abstractmethod
    def memory_bytes_(self) -> int:
        """Bytes that the model holds in memory."""

    # -- learning ----------------------------------------------------------------------------------------------------

    def learn_one(self, x: NamedRecord, y: Any) -> None:
        """Learn one labelled record."""
        columns = self._columns_with(x)
        record = check_feature_values(named_record(x, columns))
        self.learn_columns(record[np.newaxis], np.array([y]), columns)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame: the same as learning them one by one."""
        columns = self._columns_with(X.columns)
        records = check_feature_values(_as_records(X, columns))
        labels = np.asarray(y)
        if len(labels) != len(records):
            raise ValueError(f"there are {len(records)} records and {len(labels)} labels; pass one label per record")
        if len(records):
            self.learn_columns(records, labels, columns)

    def _columns_with(self, names: Iterable[Hashable]) -> Columns:
        """Return the known columns, or a new dict that has further ones for new names."""
        known: Columns = getattr(self, "columns_", {})
        # New features are sorted, so that their order in a record has no effect, not even on the last bits.
        new = sorted((name for name in names if name not in known), key=lambda name: (type(name).__name__, str(name)))
        if not new:
            return known
        if len(known) + len(new) > self.max_features:
            raise ValueError(
                f"the record has {len(new)} new features, beside the {len(known)} that the model has; allowed are "
                f"{self.max_features} in all, leave some out or set max_features"
            )
        return known | {name: len(known) + i for i, name in enumerate(new)}

    # -- river's estimator protocol ----------------------------------------------------------------------------------

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:  # noqa: D102  documented by __init__
        if "river" in sys.modules:
            _register(cls)
        return super().__new__(cls)

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Return a new model with the same parameters, and with what was learned if `include_attributes`."""
        params = self._get_params() | (new_params or {})
        copied = type(self)(**copy.deepcopy(params))
        if include_attributes:
            learned = {name: value for name, value in vars(self).items() if name not in params}
            vars(copied).update(copy.deepcopy(learned))
        return copied

    def mutate(self, new_attrs: dict[str, Any]) -> None:
        """Change parameters that may change while the model learns."""
        for name, value in new_attrs.items():
            if name not in self._mutable_attributes:
                allowed = ", ".join(sorted(self._mutable_attributes))
                raise ValueError(f"{name!r} cannot be changed on a live model; these can: {allowed}")
            setattr(self, name, value)

    def debug_one(self, x: NamedRecord) -> str:
        """Return the model's probabilities of one record as text."""
        return f"{type(self).__name__}: {self.predict_proba_one(x)}"

    def _get_params(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"budget"}

    @property
    def _tags(self) -> set[str]:
        return set()

    @property
    def _is_stochastic(self) -> bool:
        return self._get_params().get("random_state", 0) is None

    @property
    def _raw_memory_usage(self) -> int:
        return self.memory_bytes_ if hasattr(self, "classes_") else sys.getsizeof(self)

    @property
    def _memory_usage(self) -> str:
        return f"{self._raw_memory_usage / 1024:.1f} kB"

    _supervised = True
    _multiclass = True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}

    def _unit_test_skips(self) -> set[str]:
        return set()


def _register(cls: type) -> None:
    from river import base

    base.Classifier.register(cls)
    base.MiniBatchClassifier.register(cls)


def _as_records(X: Any, columns: Columns) -> NDArray[np.float64]:
    records = np.full((len(X), len(columns)), math.nan)
    for name in X.columns:
        if name not in columns:
            continue
        try:
            records[:, columns[name]] = np.asarray(X[name], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"feature {name!r} holds values that are not numbers; {ENCODE}") from None
    return records
