"""Base class of the named distances."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.anytime.errors import RecordError
from anystream.model_file import ArraySpec

POSITIVE = ArraySpec("float64", ("d",), low=sys.float_info.min, finite=True)
SCALINGS = (None, "minmax", "standard")
MISSING_VALUE = (
    "a record holds a missing value (NaN), which this distance cannot leave out; fill it before, or use "
    "metric='euclidean', 'manhattan', 'chebyshev' or 'gower'"
)


class Distance(ABC):
    """A distance: it encodes records as vectors (or texts) that one of the native metrics compares.

    What it learns from the training data (`learned`) never changes after `fit`, because the exemplars are stored
    encoded.
    """

    record_type: ClassVar[str] = "vectors"
    """Records that it compares: vectors, series or texts."""
    allows_missing: ClassVar[bool] = False
    """Whether values may be missing (NaN)."""

    def __init__(self) -> None:
        self.scaling: str | None = None
        self.learned: dict[str, NDArray[np.float64]] = {}

    def set_scaling(self, scaling: object) -> Self:
        """Set how features are brought to one scale; return the distance itself."""
        if scaling not in SCALINGS:
            raise ValueError(f"scaling is {scaling!r}; use None, 'minmax' or 'standard'")
        if scaling is not None and self.record_type == "texts":
            raise ValueError(f"scaling is {scaling!r}, but texts have no scale; leave it out")
        self.scaling = None if scaling is None else str(scaling)
        return self

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    @property
    @abstractmethod
    def native_metric(self) -> _native.NeighborsMetric:
        """The native metric of encoded records; known after `fit`."""

    @abstractmethod
    def learn(self, points: NDArray[np.float64]) -> None:
        """Learn from scaled training data what the distance needs."""

    @abstractmethod
    def encode(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scaled records as the native core stores them."""

    def decode(self, encoded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scaled records that were encoded."""
        raise ValueError(
            "models with this metric and scalings of their own cannot be merged; scale the data before and fit with "
            "scaling=None"
        )

    def to_user_distance(self, native_distance: float) -> float:
        """Return the distance of two records from the native distance of their encoded forms."""
        return native_distance

    def comparison_work(self, encoded: Any) -> float:
        """Return how many pairs of values a comparison of two of these records combines, about."""
        return float(self.learned["width"][0])

    @property
    def needs_training_data(self) -> bool:
        """Whether `fit` needs more than one record."""
        return self.scaling is not None

    def add_features(self, n_features: int) -> None:
        """Extend what was learned to `n_features` features; the new ones are missing in all records so far."""
        raise ValueError("this distance does not support new features; fit a new model on all of them")

    # -- fitting and encoding ----------------------------------------------------------------------------------------

    def fit(self, points: Any) -> Any:
        """Learn the scale and what else is needed, and return the encoded training data."""
        self._require_complete(points)
        self.learned = {}
        if self.scaling is not None:
            self.learned |= _fit_scale(points, self.scaling)
        scaled = self._scale(points)
        self.learned |= {"width": np.array([float(points.shape[1])])}
        self.learn(scaled)
        return self.encode(scaled)

    def transform(self, points: Any) -> Any:
        """Return further records encoded."""
        self._require_complete(points)
        return self.encode(self._scale(points))

    def inverse_transform(self, encoded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the records that were encoded."""
        points = self.decode(encoded)
        return points if self.scaling is None else points * self.learned["unit"] + self.learned["shift"]

    def pack(self, encoded: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return encoded records as native calls take them: all values, and where each record starts and ends."""
        borders = np.arange(len(encoded) + 1, dtype=np.int64) * encoded.shape[1]
        return np.ascontiguousarray(encoded, dtype=np.float64).reshape(-1), borders

    def _scale(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.scaling is None:
            return points
        scaled: NDArray[np.float64] = (points - self.learned["shift"]) / self.learned["unit"]
        return scaled

    def _require_complete(self, points: NDArray[np.float64]) -> None:
        if not self.allows_missing and np.isnan(points).any():
            raise RecordError(MISSING_VALUE)

    # -- model files -------------------------------------------------------------------------------------------------

    def array_specs(self) -> dict[str, ArraySpec]:
        """Return the specs of the arrays in `learned`, for records of "d" features."""
        scale = {"shift": ArraySpec("float64", ("d",), finite=True), "unit": POSITIVE}
        return ({} if self.scaling is None else scale) | {"width": ArraySpec("float64", (1,))}

    def check_learned(self, n_features: int) -> None:
        """Raise ValueError if the arrays in `learned`, each of which is valid, do not match each other."""
        if "width" in self.learned and self.learned["width"][0] != n_features:
            raise ValueError(f"the exemplars have {self.learned['width'][0]:g} features, the model has {n_features}")


def _fit_scale(points: NDArray[np.float64], scaling: str) -> dict[str, NDArray[np.float64]]:
    """Return shift and unit of each feature; a constant feature, or one that is always missing, keeps its unit."""
    known = np.where(np.isnan(points).all(axis=0), 0.0, points)
    if scaling == "minmax":
        shift, unit = np.nanmin(known, axis=0), np.nanmax(known, axis=0) - np.nanmin(known, axis=0)
    else:
        shift, unit = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    return {"shift": shift, "unit": np.where(unit > 0, unit, 1.0)}
