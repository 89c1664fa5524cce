"""Orderings by name: the order in which a query compares exemplars."""

from __future__ import annotations

from anystream.neighbors.orderings.base import Ordering, OrderingTask
from anystream.neighbors.orderings.best_drop import best_drop, drop1, drop2, drop3
from anystream.neighbors.orderings.greedy import greedy
from anystream.neighbors.orderings.random import random
from anystream.neighbors.orderings.simple_rank import simple_rank

__all__ = ["ORDERINGS", "Ordering", "OrderingTask", "get_ordering"]

ORDERINGS: dict[str, Ordering] = {
    "simple_rank": simple_rank,
    "greedy": greedy,
    "best_drop": best_drop,
    "drop1": drop1,
    "drop2": drop2,
    "drop3": drop3,
    "random": random,
}


def get_ordering(name: object) -> Ordering:
    """Return the ordering of that name; ValueError if there is none."""
    if not isinstance(name, str) or name not in ORDERINGS:
        raise ValueError(f"ordering is {name!r}; use one of {', '.join(ORDERINGS)}")
    return ORDERINGS[name]
