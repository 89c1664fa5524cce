"""Changes of the concept: detecting them, and relabelling or dropping the components that were learned before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anystream.graph.array_types import Counts, Mask, Numbers
from anystream.graph.components import Components

MAX_RECENT_ERRORS = 20
"""Maximum number of batches whose errors define the usual error."""
MIN_RECENT_ERRORS = 3
"""Minimum number of batches before a change can be detected."""
DEVIATIONS = 3.0
"""Standard deviations above the usual error at which a batch shows a change."""
MIN_DEVIATION = 0.02
"""Minimum standard deviation of the error of a batch."""
MIN_CONFIDENCE = 0.7
"""A component is dropped at a change if less than this share of the evidence supports its new label."""
MIN_CONTACT_K = 3
"""Minimum neighbourhood in which contacts between components and the records of a batch are counted."""
PRIOR_CONTACTS = 0.5
"""Contacts of every class with every class that are assumed before any is counted."""
CLASS_CONTACTS = 2.0
"""Weight of the contacts of the whole old class, in contacts of the component itself."""


def is_change(error: float, recent_errors: tuple[float, ...], n_records: int) -> bool:
    """Whether the error of a batch exceeds the usual error: mean + 3 max(binomial s.d., 0.02)."""
    if len(recent_errors) < MIN_RECENT_ERRORS:
        return False
    usual = float(np.mean(recent_errors))
    deviation: float = max((usual * (1.0 - usual) / n_records) ** 0.5, MIN_DEVIATION)
    return error > usual + DEVIATIONS * deviation


def estimate_labels(components: Components, nearest: Counts, labels: Numbers, n_classes: int) -> tuple[Numbers, Mask]:
    """Return the labels that components seem to have after a change, and which of these labels are certain enough.

    The evidence for a label is the contacts of the component with the records of the batch (T) and those of its whole
    old class (M). After a swap of labels even a component without contacts gets its new label.

    Parameters
    ----------
    components : Components
        Components learned before the change.
    nearest : array of shape (n_records, k)
        The vertices nearest to each record of the batch.
    labels : array of shape (n_records,)
        The class numbers of these records.
    n_classes : int
        Number of classes.
    """
    contacts = components.count_contacts(nearest, labels, MIN_CONTACT_K, n_classes)
    by_class = np.full((n_classes, n_classes), PRIOR_CONTACTS)
    np.add.at(by_class, components.label, contacts)
    by_class /= by_class.sum(axis=1, keepdims=True)
    evidence = CLASS_CONTACTS * by_class[components.label] + contacts
    certain = evidence.max(axis=1) >= MIN_CONFIDENCE * evidence.sum(axis=1)
    return evidence.argmax(axis=1).astype(np.int32), certain


def mostly_wrong(components: Components, nearest: Counts, labels: Numbers, n_classes: int, min_k: int) -> Mask:
    """Return which components have more contacts with records of other classes than with records of their own."""
    contacts = components.count_contacts(nearest, labels, min_k, n_classes)
    right = contacts[np.arange(len(components)), components.label]
    return np.asarray(contacts.sum(axis=1) - right > right)


@dataclass(frozen=True, slots=True)
class Balance:
    """Comparison of the whole graph with its recent part, on records that only one of them classifies correctly.

    Parameters
    ----------
    advantage : float
        Number of records that only the recent part classifies correctly, minus those that only the whole graph does.
    disagreements : float
        Number of all such records.
    """

    advantage: float = 0.0
    disagreements: float = 0.0

    def observe(self, whole_correct: Mask, recent_correct: Mask, decay: float) -> Balance:
        """Return the balance after one more batch; earlier batches are multiplied by `decay`."""
        only_recent = int((recent_correct & ~whole_correct).sum())
        only_whole = int((whole_correct & ~recent_correct).sum())
        return Balance(
            decay * self.advantage + (only_recent - only_whole),
            decay * self.disagreements + (only_recent + only_whole),
        )

    def exceeds(self, deviations: float) -> bool:
        """Whether the recent part is better alone, by more than `deviations` standard deviations of chance."""
        return self.disagreements > 0 and self.advantage > deviations * self.disagreements**0.5


NO_BALANCE = Balance()


def split_in_halves(n_records: int) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
    """Return both ways to learn one half of a batch and to test on the other, as index arrays."""
    even, odd = np.arange(0, n_records, 2), np.arange(1, n_records, 2)
    return (even, odd), (odd, even)
