"""The moments of the vertices of each class, and the Gaussians that they describe."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PRIOR_RECORDS = 0.5
"""The variance of a class is mixed with that of all vertices as if so many records spoke for the latter."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums over vertices by class; they add up, so a few vertices more cost little.

    Parameters
    ----------
    origin : array of shape (n_features,)
        Where sums are taken from.
    records : array of shape (n_classes,)
        Vertices.
    count, total, squares : arrays of shape (n_classes, n_features)
        Number, sum and sum of squares of the values that are there.
    """

    origin: Floats
    records: Floats
    count: Floats
    total: Floats
    squares: Floats

    @classmethod
    def of(cls, points: Floats, labels: NDArray[np.int32], n_classes: int, origin: Floats) -> Moments:
        """The moments of labelled points."""
        present = ~np.isnan(points)
        values = np.where(present, points - np.nan_to_num(origin), 0.0)
        member = (labels[:, np.newaxis] == np.arange(n_classes)).astype(np.float64)
        sums = (member.T @ array for array in (present.astype(np.float64), values, values * values))
        return cls(origin, member.sum(axis=0), *sums)

    def __add__(self, other: Moments) -> Moments:
        """The moments of both; the origins must be the same."""
        return Moments(
            self.origin,
            *(getattr(self, name) + getattr(other, name) for name in ("records", "count", "total", "squares")),
        )

    def gaussians(self) -> tuple[Floats, Floats, Floats]:
        """Mean and variance by class and feature, and the logarithms of the priors."""
        overall = _variance(self.count.sum(axis=0), self.total.sum(axis=0), self.squares.sum(axis=0))
        overall = np.where(overall > 1e-200, overall, 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self.total / self.count + np.nan_to_num(self.origin)  # NaN where a class has no value
            log_prior = np.log(self.records / self.records.sum())
        own = _variance(self.count, self.total, self.squares)
        variance = (self.count * own + PRIOR_RECORDS * overall) / (self.count + PRIOR_RECORDS)
        return mean, variance, log_prior

    def log_joint(self, queries: Floats) -> Floats:
        """Log P(c) + log p(x | c), up to a constant; what is missing is left out."""
        mean, variance, log_prior = self.gaussians()
        difference = queries[:, np.newaxis] - mean
        terms = np.where(np.isnan(difference), 0.0, np.log(variance) + difference * difference / variance)
        return np.asarray(log_prior - 0.5 * terms.sum(axis=2))


def _variance(count: Floats, total: Floats, squares: Floats) -> Floats:
    safe = np.maximum(count, 1.0)
    return np.asarray(np.maximum(squares / safe - (total / safe) ** 2, 0.0))
