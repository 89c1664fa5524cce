"""Changes of the concept: noticing them, and what becomes of the components from before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anystream.graph.components import Components, Counts, Mask, Numbers

MEMORY = 20
"""Batches whose errors say what is usual."""
FEWEST = 3
"""Batches before anything is usual."""
DEVIATIONS = 3.0
LEAST_DEVIATION = 0.02
CONFIDENCE = 0.7
"""A relabelled component leaves if its label is less sure than this."""
CONTACT_K = 3
"""Least neighbourhood in which a component meets the records of a batch."""
PRIOR_MEETINGS = 0.5
CLASS_MEETINGS = 2.0
"""How many meetings of its own a component's old label is worth."""


def is_change(error: float, recent: tuple[float, ...], n_records: int) -> bool:
    """Whether the error of a batch lies beyond what is usual: mean + 3 max(binomial s.d., 0.02)."""
    if len(recent) < FEWEST:
        return False
    usual = float(np.mean(recent))
    deviation: float = max((usual * (1.0 - usual) / n_records) ** 0.5, LEAST_DEVIATION)
    return error > usual + DEVIATIONS * deviation


def new_labels(components: Components, nearest: Counts, labels: Numbers, n_classes: int) -> tuple[Numbers, Mask]:
    """What the components seem to be called after a change, and which of these labels are sure.

    A component asks the records of the batch that it meets (T), and its whole old class does, too (M): after a swap of
    labels even a component that meets nobody knows its new name.

    Parameters
    ----------
    components : Components
        Those from before the change.
    nearest : array of shape (n_records, k)
        Their nearest vertices to the records of the batch.
    labels : array of shape (n_records,)
        The labels of these records.
    n_classes : int
        Number of classes.
    """
    met = components.meetings(nearest, labels, CONTACT_K, n_classes)
    by_class = np.full((n_classes, n_classes), PRIOR_MEETINGS)
    np.add.at(by_class, components.label, met)
    by_class /= by_class.sum(axis=1, keepdims=True)
    evidence = CLASS_MEETINGS * by_class[components.label] + met
    sure = evidence.max(axis=1) >= CONFIDENCE * evidence.sum(axis=1)
    return evidence.argmax(axis=1).astype(np.int32), sure


def wrong_more_than_right(components: Components, nearest: Counts, labels: Numbers, n_classes: int, k: int) -> Mask:
    """Which components are met by more records of other labels than of their own."""
    met = components.meetings(nearest, labels, k, n_classes)
    right = met[np.arange(len(components)), components.label]
    return np.asarray(met.sum(axis=1) - right > right)


@dataclass(frozen=True, slots=True)
class Balance:
    """The whole graph against its younger part, on records where just one of them is right.

    Parameters
    ----------
    lost : float
        Records that only the younger part has right, less those that only the whole graph has.
    disagreements : float
        All such records.
    """

    lost: float = 0.0
    disagreements: float = 0.0

    def after(self, whole_right: Mask, young_right: Mask, decay: float) -> Balance:
        """The balance after one more batch."""
        lost = int((young_right & ~whole_right).sum()) - int((whole_right & ~young_right).sum())
        disagreements = int((young_right != whole_right).sum())
        return Balance(decay * self.lost + lost, decay * self.disagreements + disagreements)

    def exceeds(self, deviations: float) -> bool:
        """Whether the older part does harm, beyond so many standard deviations of chance."""
        return self.disagreements > 0 and self.lost > deviations * self.disagreements**0.5


NO_BALANCE = Balance()


def halves(n_records: int) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
    """Both ways to learn from one half of a batch and to test on the other."""
    even, odd = np.arange(0, n_records, 2), np.arange(1, n_records, 2)
    return (even, odd), (odd, even)
