"""Records that wait until their chunk is full."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.drift.columns import stack_records

_MAX_BLOCKS = 256
_MERGED = 16


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
        blocks = (*self.blocks, (records.copy(), numbers.copy()))
        n_records = self.n_records + len(numbers)
        if len(blocks) > _MAX_BLOCKS:  # so that adding single records stays cheap
            return PendingRecords((_stack(blocks),), n_records)
        if len(blocks) >= _MERGED and all(len(own) < _MERGED for _, own in blocks[-_MERGED:]):
            blocks = (*blocks[:-_MERGED], _stack(blocks[-_MERGED:]))  # and stacking all of them as well
        return PendingRecords(blocks, n_records)

    def stack(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return all records, as wide as the widest, and their class numbers."""
        return _stack(self.blocks) if self.blocks else (np.zeros((0, 0)), np.zeros(0, dtype=np.int32))


def _stack(
    blocks: tuple[tuple[NDArray[np.float64], NDArray[np.int32]], ...],
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    return stack_records(records for records, _ in blocks), np.concatenate([numbers for _, numbers in blocks])
