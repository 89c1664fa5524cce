"""Dense arrays of sparse tables."""

from __future__ import annotations

from typing import Any

from anystream.anytime.memory import free_bytes


def to_dense(X: Any) -> Any:
    """Return a sparse table of SciPy as an array, and anything else unchanged.

    Raises ValueError, before anything is allocated, if the array would take more than half of the free memory.
    """
    if not _is_sparse(X) or X.ndim != 2:
        return X
    needed, free = 8 * X.shape[0] * X.shape[1], free_bytes()
    if needed > free / 2:
        raise ValueError(
            f"the sparse table has {X.shape[0]} x {X.shape[1]} cells, {needed / 1e9:.1f} GB as an array, and "
            f"{free / 1e9:.1f} GB of memory are free; classify it in parts, learn it in parts by partial_fit, or "
            "reduce the features before (for instance with TruncatedSVD)"
        )
    return X.toarray()


def _is_sparse(X: Any) -> bool:
    return type(X).__module__.startswith("scipy.sparse") and hasattr(X, "toarray")
