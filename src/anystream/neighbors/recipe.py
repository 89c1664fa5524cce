"""Recipe: the parameters of the classifier, checked and resolved once for learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from anystream.estimators.parameters import check_choice, check_int
from anystream.neighbors.distances import Distance, make_distance
from anystream.neighbors.orderings import Ordering, get_ordering


@dataclass(frozen=True, slots=True, eq=False)
class NeighborsRecipe:
    """How exemplars are ordered, stored and compared.

    Parameters
    ----------
    ordering : callable
        Orders the exemplars.
    metric : str or callable
        A named distance, or a Python function of two records.
    metric_params : mapping or None
        Parameters of a named distance.
    scaling : str or None
        Scaling of a named distance.
    inverted : bool
        Whether exemplars are stored in lists around prototypes.
    k : int
        Number of nearest exemplars that vote.
    trim : bool
        Whether cross-validation may drop the end of the order.
    capacity : int
        Maximum number of exemplars; 0 for no limit.
    seed : int
        Seed for random draws.
    """

    ordering: Ordering
    metric: str | Callable[[Any, Any], float]
    metric_params: Mapping[str, Any] | None
    scaling: str | None
    inverted: bool
    k: int
    trim: bool
    capacity: int
    seed: int

    @classmethod
    def resolve(
        cls,
        *,
        ordering: object,
        metric: Any,
        metric_params: Any,
        scaling: Any,
        search: object,
        k: object,
        trim: object,
        window: object,
        max_bytes: object,
        seed: object,
        n_features: int | None,
    ) -> Self:
        """Check the parameters of the classifier and return the recipe; ValueError if one is invalid.

        Parameters
        ----------
        ordering, metric, metric_params, scaling, search, k, trim, window, max_bytes, seed
            See `AnytimeNeighborsClassifier`.
        n_features : int or None
            Number of features of a record. None if it is not known yet; `max_bytes` does not bound the capacity then.
        """
        inverted = check_choice("search", search, ("ordered", "inverted")) == "inverted"
        recipe = cls(
            ordering=get_ordering(ordering),
            metric=metric,
            metric_params=metric_params,
            scaling=scaling,
            inverted=inverted,
            k=check_int("k", k, 1),
            trim=check_choice("trim", trim, (None, "auto")) == "auto",
            capacity=_resolve_capacity(window, max_bytes, n_features, inverted=inverted),
            seed=check_int("seed", seed),
        )
        if callable(metric):
            _check_callable(metric_params=metric_params, scaling=scaling, max_bytes=max_bytes, inverted=inverted)
        elif recipe.new_distance().record_type == "texts" and max_bytes is not None:
            raise ValueError(f"max_bytes is {max_bytes!r}, but texts differ in length; use window")
        return recipe

    def new_distance(self) -> Distance:
        """Return the named distance, not yet fitted."""
        return make_distance(self.metric, self.metric_params, self.scaling)


def _resolve_capacity(window: object, max_bytes: object, n_features: int | None, *, inverted: bool) -> int:
    """Return the maximum number of exemplars that both bounds allow; 0 for no limit."""
    limits = [] if window is None else [check_int("window", window, 1)]
    if max_bytes is not None:
        n_bytes = check_int("max_bytes", max_bytes, 1)
        if n_features is not None:
            limits.append(_capacity_of(n_bytes, n_features, inverted=inverted))
    return min(limits, default=0)


def _capacity_of(max_bytes: int, n_features: int, *, inverted: bool) -> int:
    width = n_features + 1  # one more for records without direction
    # an encoded record and a block lane of each feature, traits, a label, a serial, a list; vectors grow by doubling
    bytes_each = 2 * (10 * width + 8 * 32 + 32)
    if inverted:  # new lists are built beside the old ones
        bytes_each += 10 * width + 50
    capacity = max_bytes // bytes_each
    if inverted:  # evicted exemplars keep their positions until the lists are built again
        capacity = (capacity - 66) * 8 // 9
    if capacity < 1:
        min_bytes = bytes_each * (68 if inverted else 1)
        raise ValueError(f"max_bytes is {max_bytes}; use at least {min_bytes}, or a window")
    return capacity


def _check_callable(*, metric_params: object, scaling: object, max_bytes: object, inverted: bool) -> None:
    given = {"metric_params": metric_params, "scaling": scaling, "max_bytes": max_bytes}
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} is {value!r}, but the metric is a callable; leave it out")
    if inverted:
        raise ValueError("search is 'inverted', but the metric is a callable; use search='ordered' or a named metric")
