"""Classifiers of anystream with their defaults, and forests of other libraries that they import; with one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import BudgetLike
from anystream.compare.candidate import Candidate
from anystream.compare.settings import N_TREES
from anystream.models import MODELS


class OwnCandidate(Candidate):
    """An anytime classifier."""

    fits = True

    def __init__(self, model: Any) -> None:
        self.anytime_model = model
        self.learns = hasattr(model, "learn_one")

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Train on all records at once."""
        self.anytime_model.fit(X, y)

    def as_records(self, X: NDArray[np.float64]) -> Sequence[Any]:
        """Return one dictionary per record, as for river."""
        return [dict(enumerate(row)) for row in X.tolist()]

    def predict_one(self, record: Any, budget: BudgetLike = None) -> int | None:
        """Return the label of one record; None before anything was learned."""
        label: int | None = self.anytime_model.predict_one(record, budget=budget)
        return label

    def predict(self, X: NDArray[np.float64], budget: BudgetLike = None) -> NDArray[np.int64]:
        """Return the label of each record."""
        return np.asarray(self.anytime_model.predict(X, budget=budget), dtype=np.int64)

    def learn_one(self, record: Any, label: Any) -> None:
        """Learn one record."""
        self.anytime_model.learn_one(record, label)


class ImportedCandidate(OwnCandidate):
    """A forest that another library fits and anystream imports."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.learns = False

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Fit the model in its library and import it."""
        from anystream.forest import AnytimeForestClassifier

        self.anytime_model = AnytimeForestClassifier.from_model(self._model.fit(X, y), n_jobs=1)
        del self._model


def _make(kind: str) -> Callable[[int, int, int], Candidate]:
    def make(n_features: int, n_classes: int, seed: int) -> Candidate:
        model = MODELS[kind].load_class()()
        wanted = {"n_jobs": 1, "random_state": seed}
        return OwnCandidate(model.set_params(**{k: v for k, v in wanted.items() if k in model.get_params(deep=False)}))

    return make


def _make_forest(n_features: int, n_classes: int, seed: int) -> Candidate:
    from sklearn.ensemble import RandomForestClassifier

    return ImportedCandidate(RandomForestClassifier(N_TREES, random_state=seed))


def _make_lightgbm(n_features: int, n_classes: int, seed: int) -> Candidate:
    from anystream.compare.libraries.lightgbm import make_model

    return ImportedCandidate(make_model(seed))


METHODS: dict[str, Callable[[int, int, int], Candidate]] = {
    "bayes-tree": _make("bayes-tree"),
    "neighbors": _make("neighbors"),
    "locust": _make("locust"),
    "micro-clusters": _make("micro-clusters"),
    "kaoginc": _make("kaoginc"),
    f"imported RandomForest({N_TREES})": _make_forest,
    f"imported LightGBM({N_TREES})": _make_lightgbm,
}
