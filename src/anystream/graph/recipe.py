"""Recipes: the checked parameters that building a graph and learning a stream follow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from anystream.estimators.parameters import check_choice, check_float, check_int, resolve_threads
from anystream.graph.views import View, list_views


@dataclass(frozen=True, slots=True)
class ComponentRecipe:
    """How the components of a K-associated optimal graph are built.

    Parameters
    ----------
    max_k : int
        Maximum K.
    isolated : {"keep", "drop"}
        ``"drop"``: vertices without an edge are dropped as noise, except for those of a class that has no edge at all,
        and purity is edges / (vertices K). ``"keep"``: they are kept, and purity is (edges + 1) / (vertices K + 2),
        which trusts small components less.
    threads : int
        Threads of the native search for neighbours; 0 means one per core.
    """

    max_k: int
    isolated: str
    threads: int

    @classmethod
    def resolve(cls, *, max_k: object, isolated: object, n_jobs: object) -> ComponentRecipe:
        """Check the parameters of an estimator; raise ValueError if one is invalid."""
        return cls(
            check_int("max_k", max_k, 1),
            check_choice("isolated", isolated, ("keep", "drop")),
            resolve_threads(n_jobs),
        )


@dataclass(frozen=True, slots=True)
class StreamRecipe:
    """How `KAOGINCClassifier` learns; its class documentation describes the parameters.

    Parameters
    ----------
    batch_size, max_vertices : int
        Records per batch, and the maximum number of vertices.
    components : ComponentRecipe
        How the graph of a batch is built.
    metric, on_change, missed_changes, pruning, tau, tau_counts
        As in `KAOGINCClassifier`.
    views : tuple of View
        The ways to classify among which the model selects.
    """

    batch_size: int
    max_vertices: int
    components: ComponentRecipe
    metric: str
    on_change: str
    missed_changes: bool
    pruning: str | None
    tau: int | None
    tau_counts: str
    views: tuple[View, ...]

    @classmethod
    def resolve(cls, **parameters: Any) -> StreamRecipe:
        """Check all parameters of a `KAOGINCClassifier`; raise ValueError if one is invalid.

        Recipes are cached, because learning a single record needs one, too.
        """
        if isinstance(parameters["k_floors"], list):
            parameters["k_floors"] = tuple(parameters["k_floors"])
        try:
            return _resolve_cached(**parameters)
        except TypeError:  # a value is not hashable, so it is invalid; the error must name it
            return _resolve(**parameters)


def _resolve(
    *,
    batch_size: object,
    max_vertices: object,
    max_k: object,
    k_floors: object,
    metric: object,
    moments: object,
    isolated: object,
    on_change: object,
    missed_changes: object,
    pruning: object,
    tau: object,
    tau_counts: object,
    budget: object,
    n_jobs: object,
) -> StreamRecipe:
    check_int("budget", budget)
    size, capacity = check_int("batch_size", batch_size, 1), check_int("max_vertices", max_vertices, 1)
    if capacity < size:
        raise ValueError(f"max_vertices is {max_vertices}, less than batch_size, which is {batch_size}; use more")
    components = ComponentRecipe.resolve(max_k=max_k, isolated=isolated, n_jobs=n_jobs)
    metric_name = check_choice("metric", metric, ("weighted", "scaled", "plain"))
    return StreamRecipe(
        size,
        capacity,
        components,
        metric_name,
        check_choice("on_change", on_change, ("relabel", "restart", "ignore")),
        check_choice("missed_changes", missed_changes, (True, False)),
        check_choice("pruning", pruning, (None, "repeated", "once")),
        None if tau is None else check_int("tau", tau, 1),
        check_choice("tau_counts", tau_counts, ("learned", "classified")),
        list_views(
            _check_floors(k_floors),
            weighted=metric_name == "weighted",
            moments=check_choice("moments", moments, (True, False)),
        ),
    )


_resolve_cached = lru_cache(maxsize=64, typed=True)(_resolve)


def _check_floors(k_floors: object) -> tuple[float, ...]:
    if not isinstance(k_floors, tuple) or not k_floors:
        raise ValueError(f"k_floors is {k_floors!r}; use a tuple of numbers from 0 on, such as (0, 0.3)")
    return tuple(check_float("a number in k_floors", value, 0, 100) for value in k_floors)
