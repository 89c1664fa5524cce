"""Batches of labelled records: the open batch of a stream, and the whole batches that it is split into."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anystream.graph.array_types import Floats, Numbers


@dataclass(frozen=True, slots=True)
class Batch:
    """Labelled records in order of arrival. The arrays are never changed in place.

    Parameters
    ----------
    points : array of shape (n_records, n_features)
        The records.
    labels : array of shape (n_records,)
        Their class numbers, all below `n_classes`.
    n_classes : int
        Number of classes known when the last record arrived.
    """

    points: Floats
    labels: Numbers
    n_classes: int

    @classmethod
    def empty(cls, n_features: int) -> Batch:
        """Return a batch without records."""
        return cls(np.empty((0, n_features)), np.empty(0, np.int32), 0)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.points.nbytes + self.labels.nbytes

    def append(self, points: Floats, labels: Numbers, n_classes: int) -> Batch:
        """Return the batch with further records; `n_classes` is the number of classes known now."""
        return Batch(np.concatenate([self.points, points]), np.concatenate([self.labels, labels]), n_classes)

    def select(self, rows: NDArray[np.intp]) -> Batch:
        """Return the records at these positions."""
        return replace(self, points=self.points[rows], labels=self.labels[rows])

    def split(self, size: int) -> tuple[list[Batch], Batch]:
        """Return as many batches of `size` records as there are, and the rest as a batch of its own."""
        if len(self) < size:
            return [], self
        end = len(self) // size * size
        starts = range(0, end, size)
        whole = [replace(self, points=self.points[i : i + size], labels=self.labels[i : i + size]) for i in starts]
        rest = replace(self, points=self.points[end:].copy(), labels=self.labels[end:].copy())  # frees the whole ones
        return whole, rest

    def with_features(self, n_features: int) -> Batch:
        """Return the batch with `n_features` features; the new ones are missing in all records."""
        missing = np.full((len(self), n_features - self.points.shape[1]), np.nan)
        return replace(self, points=np.hstack([self.points, missing]))
