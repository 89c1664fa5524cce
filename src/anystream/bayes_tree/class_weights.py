"""Factors of the priors of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.estimators.parameters import check_positive


def check_class_weight(class_weight: object) -> None:
    """Raise ValueError unless a parameter `class_weight` is None, "balanced" or a mapping to numbers above 0."""
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            check_positive(f"the class weight of {label!r}", weight)
    elif class_weight is not None and not (isinstance(class_weight, str) and class_weight == "balanced"):
        raise ValueError(f"class_weight is {class_weight!r}; use a dict from labels to numbers, 'balanced' or None")


def resolve_class_weights(class_weight: Any, classes: NDArray[Any], numbers: NDArray[np.int32]) -> tuple[float, ...]:
    """Return the factor of every class; empty for None.

    Parameters
    ----------
    class_weight : mapping, "balanced" or None
        The checked parameter.
    classes : array of shape (n_classes,)
        The labels; ValueError if the mapping has another one.
    numbers : array of shape (n_records,)
        Class numbers of the training records.

    Examples
    --------
    >>> resolve_class_weights("balanced", np.array(["a", "b"]), np.array([0, 0, 0, 1]))
    (0.666..., 2.0)
    >>> resolve_class_weights({"b": 5}, np.array(["a", "b"]), np.array([0, 0, 0, 1]))
    (1.0, 5.0)
    """
    if class_weight is None:
        return ()
    if not isinstance(class_weight, Mapping):  # "balanced", as scikit-learn computes it
        counts = np.maximum(1, np.bincount(numbers, minlength=len(classes)))
        return tuple((len(numbers) / (len(classes) * counts)).tolist())
    labels = classes.tolist()
    if unknown := [label for label in class_weight if label not in labels]:
        raise ValueError(f"class_weight has the label {unknown[0]!r}, which no record has; use labels of y: {labels}")
    return tuple(float(class_weight.get(label, 1.0)) for label in labels)
