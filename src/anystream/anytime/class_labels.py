"""Class labels as they come, and the numbers that native code knows them by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anystream.model_file import ModelFile, ModelFileError, require_metadata


def extend_classes(classes: NDArray[Any] | None, labels: ArrayLike) -> NDArray[Any]:
    """The classes with those of `labels` that are new behind them, in sorted order.

    Known classes keep their places, so columns of probabilities stay what they were.

    Examples
    --------
    >>> extend_classes(np.array(["b"]), ["c", "a", "b"])
    array(['b', 'a', 'c'], dtype='<U1')
    """
    given = np.asarray(labels)
    if classes is not None and given.size == 1 and given.item() in classes.tolist():
        return classes  # a stream's usual case, without the cost of sorting
    found = np.unique(given)
    if classes is None:
        return found
    known = set(classes.tolist())
    new = found[[label not in known for label in found.tolist()]]
    if new.size == 0:
        return classes
    if (new.dtype.kind in "US") != (classes.dtype.kind in "US"):  # words beside numbers or objects: keep each as it is
        return np.concatenate([classes.astype(object), new.astype(object)])
    return np.concatenate([classes, new])


def class_numbers(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.int32]:
    """The place of each label in `classes`; every label must be there."""
    if labels.size == 1:
        return np.array([classes.tolist().index(labels.item())], dtype=np.int32)
    if classes.dtype.kind == "O" or labels.dtype.kind == "O":
        place = {label: number for number, label in enumerate(classes.tolist())}
        return np.array([place[label] for label in labels.tolist()], dtype=np.int32)
    order = np.argsort(classes, kind="stable")
    return order[np.searchsorted(classes, labels, sorter=order)].astype(np.int32)


def labels_to_json(labels: NDArray[Any]) -> dict[str, Any]:
    """Labels and their type, as a model file holds them."""
    values = labels.tolist()
    for value in values:
        if not (value is None or isinstance(value, bool | int | float | str)):
            raise TypeError(
                f"{value!r} cannot be kept in a model file; labels and features are named by text or numbers"
            )
    return {"kind": labels.dtype.kind, "values": values}


def labels_from_json(file: ModelFile, key: str) -> NDArray[Any]:
    """The labels that `labels_to_json` wrote."""
    found = require_metadata(file, key, dict)
    kind, values = found.get("kind"), found.get("values")
    dtypes = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64, "U": np.str_, "O": np.object_}
    simple = isinstance(kind, str) and isinstance(values, list) and not any(isinstance(v, list | dict) for v in values)
    if not simple or kind not in dtypes:
        raise ModelFileError(f"{file.path}: metadata {key!r} is no list of labels; save the model again")
    try:
        labels: NDArray[Any] = np.array(values, dtype=dtypes[kind])
    except (TypeError, ValueError, OverflowError):
        raise ModelFileError(
            f"{file.path}: the labels of metadata {key!r} are not of one type; save the model again"
        ) from None
    if len({(type(value), value) for value in labels.tolist()}) != len(labels):
        raise ModelFileError(f"{file.path}: metadata {key!r} names a label twice; save the model again")
    return labels
