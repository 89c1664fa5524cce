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


class Mixed(Distance):
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
    def native(self) -> _native.NeighborsMetric:
        """Unequal categories, which come first, plus absolute differences."""
        columns, n_categorical = self.learned["columns"], int(self.learned["n_categorical"][0])
        return _native.NeighborsMetric("mixed", len(columns), n_categorical)

    def learn(self, points: NDArray[np.float64]) -> None:
        """The order of columns and the ranges."""
        d = points.shape[1]
        columns = np.arange(d)
        first = columns if isinstance(self.categorical, str) else np.asarray(self.categorical).reshape(-1)
        if first.size and (first.dtype.kind not in "iu" or not np.isin(first, columns).all()):
            raise ValueError(f"categorical is {self.categorical!r}; use column numbers from 0 to {d - 1}, or 'all'")
        if len(np.unique(first)) < len(first):
            raise ValueError(f"categorical is {self.categorical!r}; name each column once")
        numbers = np.setdiff1d(columns, first)
        known = np.where(np.isnan(points).all(axis=0), 0.0, points)
        ranges = np.nanmax(known, axis=0) - np.nanmin(known, axis=0)
        self.learned["columns"] = np.concatenate([first, numbers]).astype(np.float64)
        self.learned["n_categorical"] = np.array([float(len(first))])
        self.learned["ranges"] = np.where(ranges > 0, ranges, 1.0)[numbers]

    def learned_arrays(self) -> dict[str, ArraySpec]:
        """The order of columns and the ranges as well."""
        return super().learned_arrays() | {
            "columns": ArraySpec("float64", ("d",), low=0, high="d-1"),
            "n_categorical": ArraySpec("float64", (1,), low=0, high="d"),
            "ranges": ArraySpec("float64", ("numbers",), low=sys.float_info.min, finite=True),
        }

    def check_learned(self, n_features: int) -> None:
        """Each column has one place, and each that holds numbers a range."""
        super().check_learned(n_features)
        columns, categorical = self.learned["columns"], self.learned["n_categorical"][0]
        in_places = np.array_equal(np.sort(columns), np.arange(n_features))
        if not in_places or categorical + len(self.learned["ranges"]) != n_features:
            raise ValueError("the columns of categories and numbers do not fit each other")

    def rows(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Categories first, then numbers in units of their ranges."""
        rows = points[:, self.learned["columns"].astype(np.int64)]
        rows[:, int(self.learned["n_categorical"][0]) :] /= self.learned["ranges"]
        return rows

    def points(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The columns back in their places and units."""
        units = rows.copy()
        units[:, int(self.learned["n_categorical"][0]) :] *= self.learned["ranges"]
        return units[:, np.argsort(self.learned["columns"])]

    @property
    def needs_data(self) -> bool:
        """A range takes many records."""
        return self.categorical != "all" or super().needs_data

    def distance(self, native: float) -> float:
        """The mean instead of the sum."""
        return native / len(self.learned["columns"])
