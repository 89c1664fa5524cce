"""Fingerprints of tables in memory, by which a later run recognises the same records."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SAMPLED = 4096  # rows from either end that are hashed: the time for a fingerprint stays bounded

Rows = NDArray[np.float64] | Sequence[Any]


def describe_rows(rows: Rows) -> dict[str, Any]:
    """Return the number of rows, and a hash of the first and the last of them."""
    ends = [rows] if len(rows) <= 2 * _SAMPLED else [rows[:_SAMPLED], rows[-_SAMPLED:]]
    content = b"".join(
        part.tobytes() if isinstance(part, np.ndarray) else repr(list(part)).encode("utf-8", "surrogatepass")
        for part in ends
    )
    return {"records": len(rows), "hash": hashlib.sha256(content).hexdigest()}


def check_rows(rows: Rows, fingerprint: dict[str, Any] | None) -> None:
    """Raise ValueError if the rows do not begin with those of a fingerprint."""
    if fingerprint is not None and describe_rows(rows[: fingerprint["records"]]) != fingerprint:
        raise ValueError(
            f"the first {fingerprint['records']} records of the source are not those that the run has read; give the "
            "records of that run, more may follow"
        )
