"""Gower's distance for numbers and categories, and Hamming's for categories alone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.model_file import ArraySpec
from anystream.neighbors.distances.base import Distance


class MixedDistance(Distance):
    """The mean over features of 0 or 1 (categories: equal or not) and |x_j - e_j| / range_j (numbers).

    A missing value is left out of the mean. Ranges are those of the training data.

    Parameters
    ----------
    categorical : sequence of int or "all"
        The columns that hold categories: numbers or texts.
    """

    allows_missing: ClassVar[bool] = True

    def __init__(self, categorical: Sequence[int] | str = ()) -> None:
        super().__init__()
        if isinstance(categorical, str) and categorical != "all":
            raise ValueError(f"categorical is {categorical!r}; use a list of column numbers, or 'all'")
        self.categorical = categorical

    @property
    def native_metric(self) -> _native.NeighborsMetric:
        """Number of unequal categories, which come first, plus absolute differences."""
        columns, n_categorical = self.learned["columns"], int(self.learned["n_categorical"][0])
        return _native.NeighborsMetric("mixed", len(columns), n_categorical)

    def learn(self, points: NDArray[np.float64]) -> None:
        """Learn the order of columns and the ranges."""
        d = points.shape[1]
        columns = np.arange(d)
        first = columns if isinstance(self.categorical, str) else np.asarray(self.categorical).reshape(-1)
        if first.size and (first.dtype.kind not in "iu" or not np.isin(first, columns).all()):
            raise ValueError(f"categorical is {self.categorical!r}; use column numbers from 0 to {d - 1}, or 'all'")
        if len(np.unique(first)) < len(first):
            raise ValueError(f"categorical is {self.categorical!r}; name each column once")
        numeric = np.setdiff1d(columns, first)
        known = np.where(np.isnan(points).all(axis=0), 0.0, points)
        ranges = np.nanmax(known, axis=0) - np.nanmin(known, axis=0)
        self.learned["columns"] = np.concatenate([first, numeric]).astype(np.float64)
        self.learned["n_categorical"] = np.array([float(len(first))])
        self.learned["ranges"] = np.where(ranges > 0, ranges, 1.0)[numeric]

    def encode(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return categories first, then numbers in units of their ranges."""
        encoded = points[:, self.learned["columns"].astype(np.int64)]
        encoded[:, int(self.learned["n_categorical"][0]) :] /= self.learned["ranges"]
        return encoded

    def decode(self, encoded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the columns in their original order and units."""
        units = encoded.copy()
        units[:, int(self.learned["n_categorical"][0]) :] *= self.learned["ranges"]
        return units[:, np.argsort(self.learned["columns"])]

    def to_user_distance(self, native_distance: float) -> float:
        """Return the mean instead of the sum."""
        return native_distance / len(self.learned["columns"])

    @property
    def needs_training_data(self) -> bool:
        """Whether ranges, or the scale, come from the training data."""
        return self.categorical != "all" or super().needs_training_data

    def array_specs(self) -> dict[str, ArraySpec]:
        """Return the specs of the base class and those of the columns and ranges."""
        return super().array_specs() | {
            "columns": ArraySpec("float64", ("d",), low=0, high="d-1"),
            "n_categorical": ArraySpec("float64", (1,), low=0, high="d"),
            "ranges": ArraySpec("float64", ("numbers",), low=sys.float_info.min, finite=True),
        }

    def check_learned(self, n_features: int) -> None:
        """Check that each column has one place, and each numeric column a range."""
        super().check_learned(n_features)
        columns, n_categorical = self.learned["columns"], self.learned["n_categorical"][0]
        is_permutation = np.array_equal(np.sort(columns), np.arange(n_features))
        if not is_permutation or n_categorical + len(self.learned["ranges"]) != n_features:
            raise ValueError("the columns of categories and numbers do not match each other")
