"""River's surface by duck typing: records as dicts, one at a time.

Nothing here imports river. A classifier made while river is loaded is registered as one of its classifiers, so that
``isinstance`` and river's evaluation accept it; it never inherits from river, whose tags clash with scikit-learn's.
"""

from __future__ import annotations

import copy
import inspect
import math
import sys
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import Budget
from anystream.anytime.feature_values import check_feature_values
from anystream.anytime.undo import as_it_was_on_error

Record = Mapping[Hashable, Any]

_ENCODE = "features are numbers, so encode categories first (for instance with river's OneHotEncoder)"


class RiverFaceMixin:
    """`learn_one`, `predict_one`, `predict_proba_one` and their mini-batch forms.

    A record is a mapping from feature names to numbers. Features may come and go: one that a record lacks counts as
    missing, one that is new to the model becomes a new column, missing in all earlier records.
    """

    budget: int
    classes_: NDArray[Any]
    n_features_in_: int
    columns_: dict[Hashable, int]  # feature name -> column, in order of appearance

    # -- for classifiers -------------------------------------------------------------------------------------------

    @abstractmethod
    def _learn_rows(self, rows: NDArray[np.float64], labels: NDArray[Any]) -> None:
        """Learn records of `len(self.columns_)` features one after another; a new model begins with them."""

    @abstractmethod
    def _answer(
        self, queries: NDArray[np.float64], budget: Budget
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        """Probabilities, steps and certificates of records of `len(self.columns_)` features."""

    @abstractmethod
    def _widen(self, n_features: int) -> None:
        """Make room for further features, missing in all records so far; `columns_` names them already."""

    @abstractmethod
    def _proba_row(self, row: NDArray[np.float64]) -> list[float]:
        """Probabilities of one record at the default budget."""

    @abstractmethod
    def _label_row(self, row: NDArray[np.float64]) -> int:
        """The number of one record's likeliest class at the default budget."""

    @property
    @abstractmethod
    def memory_bytes_(self) -> int:
        """Bytes that the model holds."""

    # -- one at a time ---------------------------------------------------------------------------------------------

    def learn_one(self, x: Record, y: Any) -> None:
        """Learn one labelled record."""
        columns = self._columns_with(x)
        row = check_feature_values(_as_row(x, columns))
        self._adopt(columns)
        self._learn_rows(row[np.newaxis], np.array([y]))

    def predict_proba_one(self, x: Record) -> dict[Any, float]:
        """The probability of each class seen so far; empty before anything was learned."""
        if not hasattr(self, "classes_"):
            return {}
        return dict(zip(self.classes_.tolist(), self._proba_row(_as_row(x, self.columns_)), strict=True))

    def predict_one(self, x: Record) -> Any:
        """The likeliest class; None before anything was learned."""
        if not hasattr(self, "classes_"):
            return None
        return self.classes_.item(self._label_row(_as_row(x, self.columns_)))

    # -- mini-batches: data frames ---------------------------------------------------------------------------------

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame: the same as learning them one by one."""
        columns = self._columns_with(X.columns)
        rows = check_feature_values(_as_rows(X, columns))
        labels = np.asarray(y)
        if len(labels) != len(rows):
            raise ValueError(f"there are {len(rows)} records and {len(labels)} labels; give one label to each record")
        if len(rows):
            self._adopt(columns)
            self._learn_rows(rows, labels)

    def predict_proba_many(self, X: Any) -> Any:
        """The probabilities of each row of a data frame, as a pandas data frame with the same index."""
        import pandas as pd

        index = getattr(X, "index", None)
        if not hasattr(self, "classes_"):
            return pd.DataFrame(index=index)
        proba, _, _ = self._answer(_as_rows(X, self.columns_), Budget(steps=self.budget))
        return pd.DataFrame(proba, index=index, columns=self.classes_.tolist())

    def predict_many(self, X: Any) -> Any:
        """The likeliest class of each row of a data frame, as a pandas series with the same index."""
        import pandas as pd

        index = getattr(X, "index", None)
        if not hasattr(self, "classes_"):
            return pd.Series([None] * len(X), index=index, dtype="object")
        proba, _, _ = self._answer(_as_rows(X, self.columns_), Budget(steps=self.budget))
        return pd.Series(self.classes_[proba.argmax(axis=1)], index=index)

    def _columns_with(self, names: Iterable[Hashable]) -> dict[Hashable, int]:
        known: dict[Hashable, int] = getattr(self, "columns_", {})
        # New features are sorted, so that the order of a record's features has no effect, not even on the last bits.
        new = sorted((name for name in names if name not in known), key=lambda name: (type(name).__name__, str(name)))
        return known | {name: len(known) + i for i, name in enumerate(new)} if new else known

    def _adopt(self, columns: dict[Hashable, int]) -> None:
        if columns is getattr(self, "columns_", None):
            return
        with as_it_was_on_error(self):
            self.columns_ = columns  # first: whoever widens may ask for the names
            if hasattr(self, "classes_"):
                self._widen(len(columns))
                self.n_features_in_ = len(columns)
                vars(self).pop("feature_names_in_", None)

    # -- what river asks of an estimator ---------------------------------------------------------------------------

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:  # noqa: D102  __init__ says it
        if "river" in sys.modules:
            _register(cls)
        return super().__new__(cls)

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """A new model with the same parameters, and with what was learned if `include_attributes`."""
        params = self._get_params() | (new_params or {})
        twin = type(self)(**copy.deepcopy(params))
        if include_attributes:
            learned = {name: value for name, value in vars(self).items() if name not in params}
            vars(twin).update(copy.deepcopy(learned))
        return twin

    def mutate(self, new_attrs: dict[str, Any]) -> None:
        """Change parameters that may change while the model learns."""
        for name, value in new_attrs.items():
            if name not in self._mutable_attributes:
                allowed = ", ".join(sorted(self._mutable_attributes))
                raise ValueError(f"{name!r} cannot be changed on a live model; these can: {allowed}")
            setattr(self, name, value)

    def debug_one(self, x: Record) -> str:
        """What the model says about one record."""
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
        return self._get_params().get("seed", 0) is None

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


def _as_rows(X: Any, columns: dict[Hashable, int]) -> NDArray[np.float64]:
    rows = np.full((len(X), len(columns)), math.nan)
    for name in X.columns:
        if name not in columns:
            continue
        try:
            rows[:, columns[name]] = np.asarray(X[name], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"feature {name!r} holds values that are no numbers; {_ENCODE}") from None
    return rows


def _as_row(x: Record, columns: dict[Hashable, int]) -> NDArray[np.float64]:
    if len(x) == len(columns):
        try:  # the usual case: the same features as ever, all of them numbers
            return np.array([x[name] for name in columns], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            pass
    row = np.full(len(columns), math.nan)
    for name, value in x.items():
        if name not in columns:
            continue
        try:
            row[columns[name]] = math.nan if value is None else value
        except (TypeError, ValueError):
            raise ValueError(f"feature {name!r} is {value!r}; {_ENCODE}") from None
    return row
