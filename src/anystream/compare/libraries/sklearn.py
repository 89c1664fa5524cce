"""Classifiers of scikit-learn, with one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from anystream.compare.candidate import RowCandidate
from anystream.compare.settings import N_TREES


class SklearnCandidate(RowCandidate):
    """A classifier of scikit-learn that is trained once."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Train on all records at once."""
        self.model.fit(X, y)

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the label of each record."""
        return np.asarray(self.model.predict(X), dtype=np.int64)


class PartialFitCandidate(SklearnCandidate):
    """A classifier of scikit-learn with `partial_fit`.

    A prequential run learns 100 records at a time: a variance of one record is 0, and the predictions after it are no
    numbers.
    """

    learns = True
    learn_batch = 100

    def __init__(self, model: Any, n_classes: int) -> None:
        super().__init__(model)
        self._codes = np.arange(n_classes)

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Train on all records at once."""
        self.partial_fit(X, y)

    def learn_one(self, record: Any, label: Any) -> None:
        """Learn one row."""
        self.model.partial_fit(record, [label], classes=self._codes)

    def partial_fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Learn records together."""
        self.model.partial_fit(X, y, classes=self._codes)


def _make(create: Callable[[int], Any]) -> Callable[[int, int, int], RowCandidate]:
    return lambda n_features, n_classes, seed: SklearnCandidate(create(seed))


METHODS: dict[str, Callable[[int, int, int], RowCandidate]] = {
    "GaussianNB": lambda n_features, n_classes, seed: PartialFitCandidate(GaussianNB(), n_classes),
    "KNeighbors(5)": _make(lambda seed: KNeighborsClassifier(5)),
    f"RandomForest({N_TREES})": _make(lambda seed: RandomForestClassifier(N_TREES, random_state=seed)),
    f"HistGradientBoosting({N_TREES})": _make(
        lambda seed: HistGradientBoostingClassifier(max_iter=N_TREES, early_stopping=False, random_state=seed)
    ),
}
