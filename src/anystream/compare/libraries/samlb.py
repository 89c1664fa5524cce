"""Classifiers of SAMLB: river's interface in C++, with names of features as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import samlb._samlb_core as core
from numpy.typing import NDArray

from anystream.compare.candidate import Candidate
from anystream.compare.settings import WINDOW


class SamlbCandidate(Candidate):
    """A classifier of SAMLB."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def as_records(self, X: NDArray[np.float64]) -> Sequence[Any]:
        """Return one dictionary per record."""
        names = [f"f{column}" for column in range(X.shape[1])]
        return [dict(zip(names, row, strict=True)) for row in X.tolist()]

    def predict_one(self, record: Any) -> int | None:
        """Return the label of one record."""
        return int(self.model.predict_one(record))

    def learn_one(self, record: Any, label: Any) -> None:
        """Learn one record."""
        self.model.learn_one(record, label)


def _make(create: Callable[[int], Any]) -> Callable[[int, int, int], Candidate]:
    return lambda n_features, n_classes, seed: SamlbCandidate(create(seed))


METHODS = {
    "NaiveBayes": _make(lambda seed: core.NaiveBayes()),
    "HoeffdingTree": _make(lambda seed: core.HoeffdingTreeClassifier()),
    f"KNN({WINDOW})": _make(lambda seed: core.KNNClassifier(n_neighbors=5, window_size=WINDOW)),
    "ARF(10)": _make(lambda seed: core.ARFClassifier(n_models=10, seed=seed)),
    "SRP(10)": _make(lambda seed: core.SRPClassifier(n_models=10, seed=seed)),
}
