"""The parameters that learning follows, checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from anystream.anytime.parameters import one_of, real_number, whole_number
from anystream.graph.views import View, views_of


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of `KAOGINCClassifier` that learning follows, checked."""

    max_vertices: int
    max_k: int
    k_floors: tuple[float, ...]
    metric: str
    isolated: str
    moments: bool
    on_change: str
    missed_changes: bool
    pruning: str | None
    tau: int | None
    threads: int

    @property
    def views(self) -> tuple[View, ...]:
        """The ways to decide among which is chosen."""
        return views_of(self.k_floors, weighted=self.metric == "weighted", moments=self.moments)


def checked_settings(
    batch_size: int,
    max_vertices: int,
    max_k: int,
    k_floors: tuple[float, ...],
    metric: str,
    isolated: str,
    moments: bool,
    on_change: str,
    missed_changes: bool,
    pruning: str | None,
    tau: int | None,
    budget: int,
    threads: int,
) -> Settings:
    """The parameters of `KAOGINCClassifier`, each of them checked."""
    whole_number("budget", budget, 0)
    whole_number("batch_size", batch_size, 1)
    whole_number("max_vertices", max_vertices, 1)
    if max_vertices < batch_size:
        raise ValueError(f"max_vertices is {max_vertices}, less than batch_size, which is {batch_size}; use more")
    return Settings(
        max_vertices,
        whole_number("max_k", max_k, 1),
        _floors(k_floors),
        one_of("metric", metric, ("weighted", "scaled", "plain")),
        one_of("isolated", isolated, ("keep", "drop")),
        one_of("moments", moments, (True, False)),
        one_of("on_change", on_change, ("relabel", "restart", "ignore")),
        one_of("missed_changes", missed_changes, (True, False)),
        one_of("pruning", pruning, (None, "repeated", "once")),
        None if tau is None else whole_number("tau", tau, 1),
        threads,
    )


remembered_settings = lru_cache(maxsize=64, typed=True)(checked_settings)
"""The same for parameters that can be hashed: single records ask for them again and again."""


def _floors(given: object) -> tuple[float, ...]:
    if not isinstance(given, tuple) or not given:
        raise ValueError(f"k_floors is {given!r}; use a tuple of numbers from 0 on, such as (0, 0.3)")
    return tuple(real_number("a number in k_floors", value, 0, 100) for value in given)
