"""Arrays of records to which columns were added over time."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def pad_columns(records: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
    """Return the records with `n_columns` columns; added ones are missing (NaN)."""
    if records.shape[1] == n_columns:
        return records
    return np.pad(records, ((0, 0), (0, n_columns - records.shape[1])), constant_values=np.nan)


def stack_records(blocks: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return blocks of records as one array, as wide as the widest; columns that a block lacks are missing (NaN)."""
    given = list(blocks)
    n_columns = max(block.shape[1] for block in given)
    return np.concatenate([pad_columns(block, n_columns) for block in given])
