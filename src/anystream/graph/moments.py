"""Moments of the vertices of each class, and the Gaussians that they describe."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anystream.graph.array_types import Floats, Numbers

PRIOR_RECORDS = 0.5
"""Weight, in records, of the variance of all vertices when it is mixed with the variance of a class."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums over vertices by class. Sums of several sets of vertices can be added, so a few more vertices cost little.

    Parameters
    ----------
    origin : array of shape (n_features,)
        Sums are of differences from it.
    records : array of shape (n_classes,)
        Number of vertices.
    count, total, squares : arrays of shape (n_classes, n_features)
        Number, sum and sum of squares of the values that are not missing.
    """

    origin: Floats
    records: Floats
    count: Floats
    total: Floats
    squares: Floats

    @classmethod
    def from_points(cls, points: Floats, labels: Numbers, n_classes: int, origin: Floats) -> Moments:
        """Return the moments of labelled points."""
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order], prepend=np.int32(-1)))
        found = labels[order[starts]]  # the classes that have points
        records = np.bincount(labels, minlength=n_classes).astype(np.float64)

        def sums_of(array: Floats) -> Floats:
            # not a product of matrices: BLAS may use threads, whose waiting can take tens of milliseconds on busy cores
            sums = np.zeros((n_classes, points.shape[1]))
            if len(found):
                sums[found] = np.add.reduceat(array, starts, axis=0)
            return sums

        values = points[order] - np.nan_to_num(origin)
        missing = np.isnan(values)
        if missing.any():
            values[missing] = 0.0
            count = sums_of((~missing).astype(np.float64))
        else:
            count = np.repeat(records[:, np.newaxis], points.shape[1], axis=1)
        return cls(origin, records, count, sums_of(values), sums_of(values * values))

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of both; the origins must be equal."""
        return Moments(
            self.origin,
            *(getattr(self, name) + getattr(other, name) for name in ("records", "count", "total", "squares")),
        )

    def with_classes(self, n_classes: int) -> Moments:
        """Return the moments of `n_classes` classes; the further ones have no vertices."""
        new = n_classes - len(self.records)
        sums = (np.pad(array, ((0, new), (0, 0))) for array in (self.count, self.total, self.squares))
        return Moments(self.origin, np.pad(self.records, (0, new)), *sums) if new > 0 else self

    def gaussians(self) -> tuple[Floats, Floats, Floats]:
        """Return mean and variance by class and feature, and the logarithms of the priors."""
        overall = _variance(self.count.sum(axis=0), self.total.sum(axis=0), self.squares.sum(axis=0))
        overall = np.where(overall > 1e-200, overall, 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self.total / self.count + np.nan_to_num(self.origin)  # NaN where a class has no value
            log_prior = np.log(self.records / self.records.sum())
        own = _variance(self.count, self.total, self.squares)
        variance = (self.count * own + PRIOR_RECORDS * overall) / (self.count + PRIOR_RECORDS)
        return mean, variance, log_prior

    def log_joint(self, queries: Floats) -> Floats:
        """Return log P(c) + log p(x | c), up to a constant; missing values are left out."""
        mean, variance, log_prior = self.gaussians()
        difference = queries[:, np.newaxis] - mean
        terms = np.where(np.isnan(difference), 0.0, np.log(variance) + difference * difference / variance)
        return np.asarray(log_prior - 0.5 * terms.sum(axis=2))


def _variance(count: Floats, total: Floats, squares: Floats) -> Floats:
    safe = np.maximum(count, 1.0)
    return np.asarray(np.maximum(squares / safe - (total / safe) ** 2, 0.0))
