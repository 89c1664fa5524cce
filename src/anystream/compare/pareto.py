"""Pareto front of accuracy over latency."""

from __future__ import annotations

from collections.abc import Sequence


def pareto_front(latency: Sequence[float], accuracy: Sequence[float]) -> list[int]:
    """Return the places of the points that no other one beats in both, by rising latency.

    A point is beaten by one that is at least as fast and at least as accurate, and better in one of the two; of equal
    points the first is kept.

    Examples
    --------
    >>> pareto_front([5.0, 1.0, 2.0, 3.0], [0.9, 0.5, 0.8, 0.7])
    [1, 2, 0]
    """
    front: list[int] = []
    best = float("-inf")
    for place in sorted(range(len(latency)), key=lambda at: (latency[at], -accuracy[at])):
        if accuracy[place] > best:
            front.append(place)
            best = accuracy[place]
    return front
