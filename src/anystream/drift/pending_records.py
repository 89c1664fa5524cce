"""Records that wait until their chunk is full."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.drift.columns import stack_records

_MAX_BLOCKS = 256


class PendingRecords(NamedTuple):
    """Labelled records in the order of their arrival. Adding records returns a new object.

    Parameters
    ----------
    blocks : tuple of (records, numbers)
        Records that arrived together, and their class numbers. Later blocks may have further columns.
    n_records : int
        Number of all records.
    """

    blocks: tuple[tuple[NDArray[np.float64], NDArray[np.int32]], ...] = ()
    n_records: int = 0

    def add(self, records: NDArray[np.float64], numbers: NDArray[np.int32]) -> PendingRecords:
        """Return these records followed by copies of the given ones."""
        added = PendingRecords((*self.blocks, (records.copy(), numbers.copy())), self.n_records + len(numbers))
        if len(added.blocks) <= _MAX_BLOCKS:
            return added
        return PendingRecords((added.stack(),), added.n_records)  # so that adding single records stays cheap

    def stack(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return all records, as wide as the widest, and their class numbers."""
        if not self.blocks:
            return np.zeros((0, 0)), np.zeros(0, dtype=np.int32)
        records = stack_records(records for records, _ in self.blocks)
        return records, np.concatenate([numbers for _, numbers in self.blocks])
