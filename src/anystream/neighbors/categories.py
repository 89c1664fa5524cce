"""Encoding of categories given as texts: equal texts get equal numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


def encode_category(value: object) -> float:
    """Return a number for a category: its own if it is a number, NaN if it is missing, else 48 bits of a hash.

    With a hash, categories that appear later need no table, and models of different machines agree.
    """
    if isinstance(value, Real):
        return float(value)
    if not isinstance(value, str) and _is_missing(value):
        return float("nan")
    digest = blake2b(str(value).encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return float(int.from_bytes(digest, "little"))


def encode_categories(X: Any, categorical: Sequence[int] | str) -> Any:
    """Return records with numbers in place of texts in the columns that hold categories; X itself if it has no texts.

    Parameters
    ----------
    X : data frame, array, or list of records
        The records. A data frame keeps its column names.
    categorical : sequence of int or "all"
        The columns that hold categories.
    """
    named: Collection[int] | None = None if isinstance(categorical, str) else set(np.ravel(categorical).tolist())
    if hasattr(X, "dtypes") and hasattr(X, "isetitem"):  # a pandas data frame
        frame = X.copy()
        for j, dtype in enumerate(X.dtypes):
            if getattr(dtype, "kind", "O") not in "biuf":
                frame.isetitem(j, _encode_column(X.iloc[:, j], j, named))
        return frame
    table = X if isinstance(X, np.ndarray) else np.array(X, dtype=object) if isinstance(X, list | tuple) else None
    if table is None or table.ndim != 2 or table.dtype.kind not in "OUS":
        return X
    if not any(isinstance(value, str) for value in table.ravel()):
        return X
    return np.column_stack([_encode_column(table[:, j], j, named) for j in range(table.shape[1])])


def encode_named_record(x: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a record of river's API with numbers in place of texts."""
    return {name: encode_category(value) if isinstance(value, str) else value for name, value in x.items()}


def _is_missing(value: object) -> bool:
    try:
        return value is None or bool(value != value)  # NaT differs from itself
    except TypeError:  # pandas' NA cannot be compared
        return True


def _encode_column(values: Any, j: int, named: Collection[int] | None) -> NDArray[np.float64]:
    if named is None or j in named:
        return np.array([encode_category(value) for value in values], dtype=np.float64)
    try:
        return np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {j} holds a value that is not a number ({error}); name the column in "
            "metric_params={'categorical': […]}"
        ) from None
