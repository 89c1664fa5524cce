"""Records as a metric takes them: vectors, texts, or any objects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d


@contextmanager
def vectors_wanted(metric: str) -> Iterator[None]:
    """Say what a metric for vectors does not take, and what does."""
    try:
        yield
    except ValueError as error:
        if "could not convert string" in str(error):
            raise ValueError(
                f"{error}; metric {metric!r} compares numbers: use metric='edit' for texts, 'gower' or 'hamming' for "
                "categories"
            ) from None
        if "inhomogeneous" in str(error):
            raise ValueError(
                f"records differ in length, but metric {metric!r} compares records of one length; bring all to one "
                "length, or use a callable metric"
            ) from None
        raise


def check_records(X: Any, takes: str) -> list[Any]:
    """A list of texts or objects."""
    if isinstance(X, str | bytes | dict) or not all(hasattr(X, name) for name in ("__len__", "__getitem__")):
        raise ValueError(f"records are a {type(X).__name__}; give a list of {takes}")
    records = list(X)
    if takes == "texts":
        for record in records:
            if not isinstance(record, str):
                raise ValueError(
                    f"a record is {record!r}; this metric compares texts, so give strings or use a metric for vectors"
                )
        return [str(record) for record in records]
    return records


def labelled_records(X: Any, y: ArrayLike, takes: str) -> tuple[list[Any], NDArray[Any]]:
    """Records and their labels."""
    records = check_records(X, takes)
    labels = column_or_1d(y)
    check_classification_targets(labels)
    if len(records) != len(labels):
        raise ValueError(f"there are {len(records)} records and {len(labels)} labels; give one label to each record")
    if not records:
        raise ValueError("there are 0 records; give at least one")
    return records, np.asarray(labels)
