"""Class labels and the class numbers that native code uses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MAX_FIXED_WIDTH = 256  # characters: an array of texts takes the width of the longest for each of them


def extend_classes(classes: NDArray[Any] | None, labels: ArrayLike, *, by_appearance: bool = False) -> NDArray[Any]:
    """Return the classes followed by the new ones among `labels`: sorted, or in order of appearance.

    Known classes keep their positions, so columns of probabilities keep their meaning. The result is an array of
    objects if it holds texts and numbers, or if a new text is very long.

    Examples
    --------
    >>> extend_classes(np.array(["b"]), ["c", "a", "b"])
    array(['b', 'a', 'c'], dtype='<U1')
    >>> extend_classes(np.array(["b"]), ["c", "a", "b"], by_appearance=True)
    array(['b', 'c', 'a'], dtype='<U1')
    """
    given = np.asarray(labels)
    if classes is not None and given.size == 1 and given.item() in classes.tolist():
        return classes  # the usual case of a stream, without the cost of sorting
    found, first = np.unique(given, return_index=True)
    if by_appearance:
        found = given[np.sort(first)]
    if classes is None:
        return found
    known = set(classes.tolist())
    new = found[[label not in known for label in found.tolist()]]
    if new.size == 0:
        return classes
    if classes.dtype.kind == "U" and all(isinstance(label, str) for label in new.tolist()):
        longest = max(map(len, new.tolist()))
        new = new.astype(np.str_ if longest <= _MAX_FIXED_WIDTH else object)
    if (new.dtype.kind in "US") != (classes.dtype.kind in "US"):  # texts beside numbers: do not convert either
        return np.concatenate([classes.astype(object), new.astype(object)])
    return np.concatenate([classes, new])


def check_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels of records to learn; raise ValueError if one is missing (None or NaN) or is no single value.

    Examples
    --------
    >>> check_labels(np.array(["a", None]))
    Traceback (most recent call last):
    ...
    ValueError: label 1 is None; pass a class for every record
    """
    if labels.ndim != 1:
        raise ValueError(f"the labels have the shape {labels.shape}; pass one class for every record")
    if labels.dtype.kind in "iubUS":
        return labels
    for i, label in enumerate(labels.tolist()):
        if label is None or label != label:  # NaN and NaT differ from themselves
            raise ValueError(f"label {i} is {label!r}; pass a class for every record")
        try:
            hash(label)
        except TypeError:
            raise ValueError(f"label {i} is {label!r}; a class must be hashable, such as a text or a number") from None
    return labels


def class_numbers(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.int32]:
    """Return the position of each label in `classes`, which must contain all of them."""
    if labels.size == 1:
        return np.array([classes.tolist().index(labels.item())], dtype=np.int32)
    if classes.dtype.kind == "O" or labels.dtype.kind == "O":
        position = {label: number for number, label in enumerate(classes.tolist())}
        return np.array([position[label] for label in labels.tolist()], dtype=np.int32)
    order = np.argsort(classes, kind="stable")
    return order[np.searchsorted(classes, labels, sorter=order)].astype(np.int32)


def class_shares(numbers: NDArray[np.integer[Any]], n_classes: int) -> NDArray[np.float64]:
    """Return the share of each class in these class numbers; equal shares if there are none."""
    counts = np.bincount(numbers, minlength=n_classes).astype(np.float64)
    return counts / len(numbers) if len(numbers) else np.full(n_classes, 1.0 / n_classes)
