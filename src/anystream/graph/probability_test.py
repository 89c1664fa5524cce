"""Calibration that follows a stream: every batch tests candidates for it before the batch is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from anystream.estimators.calibration import Calibration
from anystream.graph.array_types import Floats, Numbers
from anystream.graph.views import DECAY

LOG_SHARPNESS: Floats = np.linspace(-3.0, 2.0, 21)
"""Candidates for log b of `anystream.estimators.calibration.Calibration`."""
FLOORS: Floats = np.geomspace(0.0005, 0.5, 13)
"""Candidates for the floor."""
SHAPE = (2, len(LOG_SHARPNESS), len(FLOORS))


@dataclass(frozen=True, slots=True)
class ProbabilityTest:
    """Decayed log loss of the candidates on labelled batches that were not learned yet.

    Parameters
    ----------
    losses : array of shape (2, n_sharpness, n_floors)
        Sum of the log losses of the records, for the probabilities of the graph and for those of the moments.
    """

    losses: Floats

    @classmethod
    def start(cls) -> Self:
        """Return the test before the first batch."""
        return cls(np.zeros(SHAPE))

    def observe(
        self,
        graph_scores: Floats,
        moments_scores: Floats | None,
        numbers: Numbers,
        *,
        n_classes: int,
        n_learned: int,
    ) -> Self:
        """Return the test after one more batch.

        Parameters
        ----------
        graph_scores : array of shape (n_records, n_classes)
            Logarithms of the probabilities by the graph, up to a number per record.
        moments_scores : array of the same shape, optional
            Those by the moments.
        numbers : array of shape (n_records,)
            The class numbers of the records.
        n_classes : int
            Number of classes so far; the scores may have further columns.
        n_learned : int
            Number of records that were learned before. A model of few records gets better quickly, so that earlier
            tests count by the square of the share of records that they knew.
        """
        batch = np.zeros(SHAPE)
        batch[0] = _log_losses(graph_scores, numbers, n_classes)
        if moments_scores is not None:
            batch[1] = _log_losses(moments_scores, numbers, n_classes)
        growth = n_learned / (n_learned + len(numbers))
        return type(self)(DECAY * growth**2 * self.losses + batch)

    def calibration(self, *, moments: bool) -> Calibration | None:
        """Return the candidate with the lowest loss, for the same map after any number of steps; None before a test.

        One more record than there are counts as wrong, and log b has a normal prior with deviation 1, as in
        `fit_calibration`.
        """
        losses = self.losses[int(moments)]
        if not losses.any():
            return None
        total = losses + LOG_SHARPNESS[:, np.newaxis] ** 2 / 2 - np.log(FLOORS)
        rate, floor = np.unravel_index(int(total.argmin()), total.shape)
        return Calibration((0,), (float(LOG_SHARPNESS[rate]),), (float(FLOORS[floor]),))


def _log_losses(scores: Floats, numbers: Numbers, n_classes: int) -> Floats:
    """Return the summed log loss of every candidate, as an array of shape (n_sharpness, n_floors)."""
    highest = scores.max(axis=1, keepdims=True)
    below = np.where(np.isfinite(highest), scores - np.where(np.isfinite(highest), highest, 0.0), 0.0)
    sharp = np.exp(np.exp(LOG_SHARPNESS)[:, np.newaxis, np.newaxis] * below)
    own = sharp[:, np.arange(len(numbers)), numbers] / sharp.sum(axis=2)
    mixed = (1.0 - FLOORS)[:, np.newaxis] * own[:, np.newaxis] + (FLOORS / n_classes)[:, np.newaxis]
    return np.asarray(-np.log(mixed).sum(axis=2))
