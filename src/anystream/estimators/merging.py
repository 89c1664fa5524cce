"""Merging models of parts of the data into one."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from anystream.estimators.labels import class_numbers, extend_classes


class MergeableMixin(metaclass=ABCMeta):
    """`merge`; a subclass defines how the states of several models become one."""

    classes_: NDArray[Any]

    @abstractmethod
    def merge_states(self, models: Sequence[Self], class_maps: Sequence[NDArray[np.int32]]) -> None:
        """Set what was learned to the union of what `models` learned.

        This model has the parameters of the first one and learned nothing yet; `classes_` and `columns_` are set.
        Class k of model i has the number ``class_maps[i][k]`` here.
        """

    # -- learning by parts -------------------------------------------------------------------------------------------

    def empty_twin(self) -> Self:
        """Return a model with the parameters, columns and classes of this one that has learned nothing.

        What it learns by `partial_fit` can be merged with this model; only of models that have `partial_fit`.
        """
        check_is_fitted(self)
        twin: Self = clone(self)
        twin.classes_ = self.classes_
        self._copy_columns(twin)
        twin.reset_like(self)
        return twin

    def reset_like(self, model: Self) -> None:
        """Start an empty model with what `model` has chosen; this default chooses nothing."""
        self.reset(model.n_features_in_)  # type: ignore[attr-defined]  # of IncrementalClassifier

    # -- fitting by parts --------------------------------------------------------------------------------------------

    def choose_for_parts(self, X: ArrayLike, y: ArrayLike, *, rebuild: bool) -> Any:
        """Return what is decided once, on a sample of all parts, before each of them is fitted; this default: None.

        `rebuild` tells whether `finish_parts` may build structures of all records again, if that makes a better model.
        """
        return None

    def fit_part(self, X: ArrayLike, y: ArrayLike, choice: Any) -> Self:
        """Return a model of one part, to be merged with those of the others.

        Parameters
        ----------
        X, y : array-like
            The part, as for `fit`.
        choice : object
            What `choose_for_parts` returned.
        """
        return cast(Self, clone(self).fit(X, y))

    def finish_parts(self, choice: Any) -> None:
        """Complete a model that was merged from those of all parts, in place; this default does nothing."""
        return

    # -- merging -----------------------------------------------------------------------------------------------------

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """Return one model of all the data that `models` were fitted on; parameters are those of the first."""
        if not models:
            raise ValueError("there is no model to merge; pass at least one")
        for model in models:
            check_is_fitted(model)
            ours, theirs = _columns(models[0]), _columns(model)
            if ours != theirs:
                raise ValueError(
                    f"the models have different features ({ours} and {theirs}); "
                    "merge models that were fitted on the same columns"
                )
        first = models[0]
        classes = first.classes_
        for model in models[1:]:
            classes = extend_classes(classes, model.classes_)
        whole: Self = clone(first)
        whole.classes_ = classes
        first._copy_columns(whole)
        whole.merge_states(models, [class_numbers(classes, model.classes_) for model in models])
        return whole

    def _copy_columns(self, other: Any) -> None:
        for name in ("columns_", "n_features_in_", "feature_names_in_", "seed_"):
            if name in vars(self):
                setattr(other, name, getattr(self, name))


def _columns(model: Any) -> list[Hashable]:
    return list(getattr(model, "columns_", ()))
