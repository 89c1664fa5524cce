"""How models of parts of the data become one: what is the same whatever they have learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from anystream.anytime.class_labels import class_numbers, extend_classes

Model = TypeVar("Model")


def begin_merge(models: Sequence[Model]) -> tuple[Model, list[NDArray[np.int32]]]:
    """A model of the classes and columns of all `models` that has learned nothing, and the numbers of their classes.

    Its parameters are those of the first. ``numbers[i][k]`` is what the k-th class of the i-th model is called in it.
    """
    if not models:
        raise ValueError("there is no model to merge; give at least one")
    for model in models:
        check_is_fitted(model)
        ours, theirs = _columns(models[0]), _columns(model)
        if ours != theirs:
            raise ValueError(
                f"the models know different features ({ours} and {theirs}); "
                "merge models that were fitted on the same columns"
            )
    first: Any = models[0]
    whole = clone(first)
    classes = first.classes_
    for model in models[1:]:
        classes = extend_classes(classes, model.classes_)  # type: ignore[attr-defined]  # a fitted classifier
    whole.classes_ = classes
    for name in ("columns_", "n_features_in_", "feature_names_in_"):
        if hasattr(first, name):
            setattr(whole, name, getattr(first, name))
    return whole, [class_numbers(classes, model.classes_) for model in models]  # type: ignore[attr-defined]


def _columns(model: Any) -> list[Any]:
    if hasattr(model, "columns_"):
        return list(model.columns_)
    return list(model._column_names()) if hasattr(model, "n_features_in_") else []
