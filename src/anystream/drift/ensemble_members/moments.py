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
        self.moments = self.moments.with_shape(n_classes, records.shape[1])
        self.moments.learn(records, numbers)

    def copy(self) -> Member:
        """Return a member with a copy of the moments."""
        return MomentsMember(self.moments.copy(*self.moments.shape))

    def proba(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Return P(c | x)."""
        return self.moments.proba(records, n_classes)

    def class_shares(self, n_classes: int) -> NDArray[np.float64]:
        """Return the shares of the classes among the records learned."""
        count, n_records = self.moments.count, self.moments.count.sum()
        return np.pad(count / n_records, (0, n_classes - len(count))) if n_records else super().class_shares(n_classes)

    def renumber(self, class_map: NDArray[np.int32]) -> Member:
        """Return a member with the same moments and other class numbers."""
        return MomentsMember(self.moments.renumber(class_map))
