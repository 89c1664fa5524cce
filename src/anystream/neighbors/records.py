"""Validation of records that are texts or any objects, and errors about records that are not vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from anystream.anytime.errors import RecordError
from anystream.neighbors.distances.base import MISSING_VALUE


def explain_vector_error(error: ValueError, metric: str) -> ValueError:
    """Return an error that names a metric for such records if they could not be converted to vectors; else `error`."""
    text = str(error)
    if "could not convert string" in text:
        return ValueError(
            f"{text}; metric {metric!r} compares numbers: use metric='edit' for texts, 'gower' or 'hamming' for "
            "categories"
        )
    if "inhomogeneous" in text:
        return ValueError(
            f"records differ in length, but metric {metric!r} compares records of one length; bring all to one length, "
            "or use a callable metric"
        )
    if "contains NaN" in text:
        return RecordError(MISSING_VALUE)
    return error


def check_records(X: Any, record_type: str) -> list[Any]:
    """Return records that are not vectors as a list; ValueError if they are not of `record_type`.

    Parameters
    ----------
    X : sequence
        The records.
    record_type : {"texts", "objects"}
        Type of the records.
    """
    if isinstance(X, str | bytes | dict) or not all(hasattr(X, name) for name in ("__len__", "__getitem__")):
        raise ValueError(f"records are a {type(X).__name__}; pass a list of {record_type}")
    records = list(X)
    if record_type != "texts":
        return records
    for record in records:
        if not isinstance(record, str):
            raise ValueError(
                f"a record is {record!r}; this metric compares texts, so pass strings or use a metric for vectors"
            )
    return [str(record) for record in records]


def check_labelled_records(X: Any, y: ArrayLike, record_type: str) -> tuple[list[Any], NDArray[Any]]:
    """Return training records that are not vectors and their labels; parameters as in `check_records`."""
    records = check_records(X, record_type)
    labels = column_or_1d(y)
    check_classification_targets(labels)
    if len(records) != len(labels):
        raise ValueError(f"there are {len(records)} records and {len(labels)} labels; pass one label per record")
    if not records:
        raise ValueError("there are 0 records; pass at least one")
    return records, np.asarray(labels)
