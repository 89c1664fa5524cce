"""LightGBM, with one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from numpy.typing import NDArray

from anystream.compare.candidate import RowCandidate
from anystream.compare.settings import N_TREES


def make_model(seed: int) -> Any:
    """Return an unfitted model of 100 rounds."""
    return LGBMClassifier(n_estimators=N_TREES, n_jobs=1, verbose=-1, random_state=seed)


class LightgbmCandidate(RowCandidate):
    """LightGBM through its booster, which checks less than the interface of scikit-learn."""

    def __init__(self, seed: int) -> None:
        self.model = make_model(seed)

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Train on all records at once."""
        self.model.fit(X, y)

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the label of each record."""
        scores = np.asarray(self.model.booster_.predict(X, num_threads=1))
        places = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0.5).astype(np.int64)
        return np.asarray(self.model.classes_[places], dtype=np.int64)


METHODS = {f"LightGBM({N_TREES})": lambda n_features, n_classes, seed: LightgbmCandidate(seed)}
