"""Classifiers of river: dictionaries, one record at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import forest, naive_bayes, neighbors, tree

from anystream.compare.candidate import Candidate
from anystream.compare.settings import WINDOW


class RiverCandidate(Candidate):
    """A classifier of river."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def as_records(self, X: NDArray[np.float64]) -> Sequence[Any]:
        """Return one dictionary per record."""
        return [dict(enumerate(row)) for row in X.tolist()]

    def predict_one(self, record: Any) -> int | None:
        """Return the label of one record; None before anything was learned."""
        label: int | None = self.model.predict_one(record)
        return label

    def learn_one(self, record: Any, label: Any) -> None:
        """Learn one record."""
        self.model.learn_one(record, label)


def _make(create: Callable[[int], Any]) -> Callable[[int, int, int], Candidate]:
    return lambda n_features, n_classes, seed: RiverCandidate(create(seed))


METHODS = {
    "GaussianNB": _make(lambda seed: naive_bayes.GaussianNB()),
    "HoeffdingTree": _make(lambda seed: tree.HoeffdingTreeClassifier()),
    f"KNN({WINDOW})": _make(
        lambda seed: neighbors.KNNClassifier(n_neighbors=5, engine=neighbors.LazySearch(window_size=WINDOW))
    ),
    "ARF(10)": _make(lambda seed: forest.ARFClassifier(n_models=10, seed=seed)),
    "AMF(10)": _make(lambda seed: forest.AMFClassifier(n_estimators=10, seed=seed)),
}
