"""What a distance offers to the classifier."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.model_file import ArraySpec

POSITIVE = ArraySpec("float64", ("d",), low=sys.float_info.min, finite=True)
SCALINGS = (None, "minmax", "standard")


class Distance(ABC):
    """A distance: it turns records into rows that one of the native distances compares.

    What it learns from the training data (`learned`) stays as `fit` left it: the exemplars stand in that frame.
    """

    records: ClassVar[str] = "vectors"
    """What it compares: vectors, series or texts."""
    allows_missing: ClassVar[bool] = False

    def __init__(self) -> None:
        self.scaling: str | None = None
        self.learned: dict[str, NDArray[np.float64]] = {}

    def scale_by(self, scaling: object) -> None:
        """Set how features are brought to one scale."""
        if scaling not in SCALINGS:
            raise ValueError(f"scaling is {scaling!r}; use None, 'minmax' or 'standard'")
        if scaling is not None and self.records == "texts":
            raise ValueError(f"scaling is {scaling!r}, but texts have no scale; leave it out")
        self.scaling = None if scaling is None else str(scaling)

    @property
    @abstractmethod
    def native(self) -> _native.NeighborsMetric:
        """The native distance of the rows; known after `fit`."""

    @abstractmethod
    def learn(self, points: NDArray[np.float64]) -> None:
        """Learn from scaled training data what the distance needs."""

    @abstractmethod
    def rows(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """What stands for scaled records in the native core."""

    def distance(self, native: float) -> float:
        """The distance in the user's terms, from that of the rows."""
        return native

    # -- what a model file asks ---------------------------------------------------------------------------------------

    def learned_arrays(self) -> dict[str, ArraySpec]:
        """What `learned` holds for records of "d" features."""
        scale = {"shift": ArraySpec("float64", ("d",), finite=True), "unit": POSITIVE}
        return ({} if self.scaling is None else scale) | {"width": ArraySpec("float64", (1,))}

    def check_learned(self, n_features: int) -> None:
        """Refuse a `learned` of which each array is sound, if they do not fit each other."""
        if "width" in self.learned and self.learned["width"][0] != n_features:
            raise ValueError(f"the exemplars have {self.learned['width'][0]:g} features, the model {n_features}")

    # -- what the classifier calls -----------------------------------------------------------------------------------

    def fit(self, points: Any) -> Any:
        """Learn the scale and what else is needed, and return the training data's rows."""
        self._require_complete(points)
        self.learned = {}
        if self.scaling is not None:
            self.learned |= _scale(points, self.scaling)
        scaled = self._scaled(points)
        self.learned |= {"width": np.array([float(points.shape[1])])}
        self.learn(scaled)
        return self.rows(scaled)

    def transform(self, points: Any) -> Any:
        """The rows of further records."""
        self._require_complete(points)
        return self.rows(self._scaled(points))

    def restore(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The records that stand behind rows."""
        points = self.points(rows)
        return points if self.scaling is None else points * self.learned["unit"] + self.learned["shift"]

    def points(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scaled records that stand behind rows."""
        raise ValueError(
            "models with this metric and scalings of their own cannot be merged; scale the data before and fit with "
            "scaling=None"
        )

    @property
    def needs_data(self) -> bool:
        """Whether one record alone does not tell how to measure."""
        return self.scaling is not None

    def pack(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Rows as native calls take them: all values, and the border of each row."""
        borders = np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]
        return np.ascontiguousarray(rows, dtype=np.float64).reshape(-1), borders

    def widen(self, n_features: int) -> None:
        """Make room for further features, missing so far."""
        raise ValueError("this distance cannot take new features; fit a new model on all of them")

    def _scaled(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.scaling is None:
            return points
        scaled: NDArray[np.float64] = (points - self.learned["shift"]) / self.learned["unit"]
        return scaled

    def _require_complete(self, points: NDArray[np.float64]) -> None:
        if not self.allows_missing and np.isnan(points).any():
            raise ValueError(
                "a record holds a missing value (NaN), which this distance cannot leave out; fill it before, or use "
                "metric='euclidean', 'manhattan', 'chebyshev' or 'gower'"
            )


def _scale(points: NDArray[np.float64], scaling: str) -> dict[str, NDArray[np.float64]]:
    """Shift and unit of each feature; a constant or unknown feature keeps its unit."""
    known = np.where(np.isnan(points).all(axis=0), 0.0, points)
    if scaling == "minmax":
        shift, unit = np.nanmin(known, axis=0), np.nanmax(known, axis=0) - np.nanmin(known, axis=0)
    else:
        shift, unit = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    return {"shift": shift, "unit": np.where(unit > 0, unit, 1.0)}
