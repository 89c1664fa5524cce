"""Metrics: spaces, learned from training data, in which Euclidean distance separates the classes."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream import _native

METRICS = ("whiten", "quantile", "diagonal")
"""The maps that a metric consists of; ``"quantile+diagonal"`` is one after the other."""


def _empty() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Metric:
    """Map of records: each feature along its own curve, then all of them through a linear map.

    A missing value stays missing, except under a full matrix, where it counts as the mean. A metric never changes.
    """

    shift: NDArray[np.float64]  # (d,)
    knots: NDArray[np.float64] = field(default_factory=_empty)  # (d * k,) ascending values per feature, or empty
    levels: NDArray[np.float64] = field(default_factory=_empty)  # (d * k,) the values they are mapped to
    factor: NDArray[np.float64] = field(default_factory=_empty)  # (d,) or empty
    matrix: NDArray[np.float64] = field(default_factory=_empty)  # (d * d,) row j: what feature j adds; or empty

    @cached_property
    def native(self) -> _native.BayesMetric:
        """The same map for native code."""
        return _native.BayesMetric(self.shift, self.knots, self.levels, self.factor, self.matrix)

    def apply(self, records: NDArray[np.float64], threads: int = 0) -> NDArray[np.float64]:
        """Return records, one per row, in the space of the metric; 0 threads means one per core."""
        out = np.empty_like(records)
        self.native.apply(records, threads, out)
        return out

    def undo(self, mapped: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the records that `apply` has mapped, except for rounding and for what the map has lost.

        A value outside the range that a curve was learned on comes back as the end of the range. A value that was
        missing under a full matrix comes back as the mean.
        """
        if len(self.matrix):
            records = np.linalg.solve(self.matrix.reshape(len(self.shift), -1).T, mapped.T).T
        else:
            records = mapped / self.factor if len(self.factor) else mapped.copy()
        records += self.shift
        if len(self.knots):
            curves = zip(*(each.reshape(len(self.shift), -1) for each in (self.knots, self.levels)), strict=True)
            for column, (knots, levels) in enumerate(curves):
                if knots[0] < knots[-1]:
                    records[:, column] = np.interp(records[:, column], levels, knots)
        return np.ascontiguousarray(records)

    def with_features(self, n_features: int) -> Self:
        """Return the same map for records with further features, which it leaves unchanged."""
        d = len(self.shift)
        added = n_features - d
        if added <= 0:
            return self
        changes = {"shift": np.append(self.shift, np.zeros(added))}
        if len(self.factor):
            changes["factor"] = np.append(self.factor, np.ones(added))
        if len(self.matrix):
            whole = np.eye(n_features)
            whole[:d, :d] = self.matrix.reshape(d, d)
            changes["matrix"] = whole.reshape(-1)
        if len(self.knots):
            flat = np.zeros(len(self.knots) // d * added)  # equal knots: no curve
            changes |= {"knots": np.append(self.knots, flat), "levels": np.append(self.levels, flat)}
        return replace(self, **changes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and all(
            np.array_equal(getattr(self, each.name), getattr(other, each.name)) for each in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # it never changes


def parse_metric(metric: object) -> tuple[str, ...]:
    """Return the maps that the name of a metric consists of; none for None. ValueError if there is no such metric.

    Examples
    --------
    >>> parse_metric("quantile+diagonal")
    ('quantile', 'diagonal')
    """
    if metric is None:
        return ()
    maps = tuple(metric.split("+")) if isinstance(metric, str) else ()
    linear = [each for each in maps if each != "quantile"]
    if not maps or any(each not in METRICS for each in maps) or len(linear) > 1 or len(set(maps)) < len(maps):
        known = ", ".join(map(repr, METRICS))
        raise ValueError(f"metric is {metric!r}; use None, 'auto', one of {known}, or 'quantile+' and another")
    if "quantile" in maps[1:]:
        raise ValueError(f"metric is {metric!r}; put 'quantile' first: it maps each feature separately")
    return maps


def map_records(metric: Metric | None, records: NDArray[np.float64], threads: int = 0) -> NDArray[np.float64]:
    """Return records in the space of a metric; None leaves them unchanged."""
    return records if metric is None else metric.apply(records, threads)
