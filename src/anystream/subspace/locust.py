"""What both forms of LOCUST share: categorical columns, files, and when sampling ends."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.stream_model import StreamClassifier, real_number
from anystream.model_file import ArraySpec, ModelFile
from anystream.subspace.categorical import categorical_columns, check_categories
from anystream.subspace.file import locust_from_file, locust_to_file


class Locust(StreamClassifier):
    """A classifier over inverted lists of a stream's points."""

    categorical: Sequence[Hashable] | None

    _native_model: ClassVar[Any]
    _arrays: ClassVar[Mapping[str, ArraySpec]]

    @abstractmethod
    def _model_settings(self) -> Any:
        """How the model remembers, as native code takes it. Checks every parameter that it reads."""

    def _empty_model(self, n_features: int) -> Any:
        return self._native_model.empty(self._model_settings(), n_features)

    def _categorical_columns(self) -> list[int]:
        return categorical_columns(self.categorical, self.columns_)

    def _check_points(self, points: NDArray[np.float64]) -> None:
        check_categories(points, self._categorical_columns())

    def _widen_model(self, n_features: int) -> None:
        self.model_.widen(n_features, self._categorical_columns())

    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return locust_to_file(self, self._arrays)

    @classmethod
    def _from_file(cls, file: ModelFile, *, mapped: bool) -> Self:
        return locust_from_file(cls, file, cls._arrays)


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
