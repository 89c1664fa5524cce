"""Base of both LOCUST classifiers: categorical columns, and the end of sampling."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from anystream.estimators.parameters import check_float
from anystream.estimators.stream_classifier import StreamClassifier
from anystream.subspace.categorical import categorical_columns, check_categories, require_columns


class LocustBase(StreamClassifier, abstract=True):
    """Classifier over inverted lists of a stream's points."""

    categorical: Sequence[Hashable] | None

    def categorical_columns(self) -> list[int]:
        """Return the numbers of the categorical columns."""
        return categorical_columns(self.categorical, self.columns_)

    def check_columns(self) -> None:
        """Raise ValueError if `categorical` names a column that does not exist."""
        require_columns(self.categorical, self.columns_)

    def check_points(self, points: NDArray[np.float64]) -> None:
        """Raise ValueError if a category is not a whole number."""
        check_categories(points, self.categorical_columns())

    def add_features(self, n_features: int) -> None:
        """Add features to a copy of the native model; new columns may be categorical."""
        self.model_ = self.model_.snapshot()
        self.model_.add_features(n_features, self.categorical_columns())


def error_rate(confidence: object) -> float:
    """Return the error rate of the sequential test for a confidence; 0 means no test.

    Examples
    --------
    >>> error_rate(0.75)
    0.25
    """
    if confidence is None:
        return 0.0
    wanted = check_float("confidence", confidence)
    if not 0.5 <= wanted < 1.0:
        raise ValueError(f"confidence is {confidence!r}; use a probability from 0.5 to below 1, or None")
    return 1.0 - wanted
