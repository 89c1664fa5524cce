"""What both forms of LOCUST share: categorical columns, and when sampling ends."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.parameters import real_number
from anystream.anytime.stream_model import StreamClassifier
from anystream.subspace.categorical import categorical_columns, check_categories, require_columns


class Locust(StreamClassifier):
    """A classifier over inverted lists of a stream's points."""

    categorical: Sequence[Hashable] | None

    def _categorical_columns(self) -> list[int]:
        return categorical_columns(self.categorical, self.columns_)

    def _check_columns(self) -> None:
        require_columns(self.categorical, self.columns_)

    def _check_points(self, points: NDArray[np.float64]) -> None:
        check_categories(points, self._categorical_columns())

    def _widen(self, n_features: int) -> None:
        self.model_.add_features(n_features, self._categorical_columns())


def error_rate(confidence: object) -> float:
    """The error that a sequential test may make; 0 stands for no test.

    Examples
    --------
    >>> error_rate(0.75)
    0.25
    """
    if confidence is None:
        return 0.0
    wanted = real_number("confidence", confidence)
    if not 0.5 <= wanted < 1.0:
        raise ValueError(f"confidence is {confidence!r}; use a probability from 0.5 to below 1, or None")
    return 1.0 - wanted
