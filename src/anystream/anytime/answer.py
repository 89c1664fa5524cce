"""What a classifier says about a batch, and how deep it got."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The answers to a batch of records.

    Parameters
    ----------
    labels : array of shape (n_records,)
        The likeliest class of each record.
    proba : array of shape (n_records, n_classes)
        Probabilities in the order of the classifier's `classes_`; each row sums to 1.
    steps : array of shape (n_records,)
        Steps that each record took.
    certified : array of shape (n_records,)
        True where no further step could change the label.
    elapsed : float
        Seconds that the call took.
    """

    labels: NDArray[Any]
    proba: NDArray[np.float64]
    steps: NDArray[np.int64]
    certified: NDArray[np.bool_]
    elapsed: float

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        if len(self) == 0:
            return "Answer(no records)"
        return (
            f"Answer({len(self)} records, {self.steps.mean():.1f} steps on average, "
            f"{self.certified.mean():.0%} certified, {self.elapsed * 1e3:.2f} ms)"
        )
