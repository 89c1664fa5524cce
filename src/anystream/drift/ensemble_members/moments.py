"""Members that are our naive Bayes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream.drift.ensemble_members.base import Member
from anystream.drift.gaussian_moments import GaussianMoments


class MomentsMember(Member):
    """Our naive Bayes without the estimator around it. It can learn any class at any time."""

    def __init__(self, moments: GaussianMoments) -> None:
        self.moments = moments

    def fit(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Compute the moments of one batch."""
        self.moments = GaussianMoments(records.shape[1], self.moments.smoothing)
        self.learn(records, numbers, n_classes)

    def learn(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Add records to the moments."""
        if self.moments.mean.shape != (n_classes, records.shape[1]):
            self.moments = self.moments.with_shape(n_classes, records.shape[1])
        self.moments.learn(records, numbers)

    def needs_copy(self, n_records: int, n_classes: int) -> bool:
        """Return False for one record of a known class: learning it cannot fail after validation.

        A batch is learned in several calls of `learn`, between which the user can interrupt it.
        """
        return n_records > 1 or n_classes != len(self.moments.count)

    def copy(self) -> Member:
        """Return a member with a copy of the moments."""
        return MomentsMember(self.moments.copy())

    def proba(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Return P(c | x)."""
        return self.moments.proba(records, n_classes)

    def renumber(self, class_map: NDArray[np.int32]) -> Member:
        """Return a member with the same moments and other class numbers."""
        return MomentsMember(self.moments.renumber(class_map))
