"""SimpleRank and DROP1-3 as orders, in plain Python: every round computes everything from scratch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def nearest_left(D: NDArray[np.float64], left: list[int], i: int, k: int) -> list[int]:
    """Return the k nearest to i among `left`, without i itself; ties go to the lower index."""
    return sorted((j for j in left if j != i), key=lambda j: (D[i, j], j))[:k]


def simple_rank(D: NDArray[np.float64], y: NDArray[np.int64], n_classes: int) -> list[int]:
    """Fill the order from its end, the lowest rank first; all records keep voting.

    The rank is the sum of 1 for each correct vote and -2 / (classes - 1) for each wrong one. Of equal ranks, the one
    nearest to another remaining one of its class is removed first.
    """
    n = len(y)
    left, order = list(range(n)), []
    while left:
        rank = dict.fromkeys(left, 0)  # times (classes - 1)
        for j in range(n):
            for x in nearest_left(D, left, j, 1):
                rank[x] += max(n_classes - 1, 1) if y[x] == y[j] else -2
        own = {i: min((D[i, j] for j in left if j != i and y[j] == y[i]), default=np.inf) for i in left}
        worst = min(left, key=lambda i: (rank[i], own[i], -i))
        left.remove(worst)
        order.insert(0, worst)
    return order


def majority(y: NDArray[np.int64], near: list[int]) -> int | None:
    """Return the most frequent class among the neighbours; of equals, the one that comes first."""
    classes = [int(y[j]) for j in near]
    return max(classes, key=classes.count) if classes else None


def drop(D: NDArray[np.float64], y: NDArray[np.int64], variant: int) -> list[int]:
    """Fill the order from its end: first what the largest number of associates are classified better without."""
    n = len(y)
    everything = list(range(n))
    enemy = [min((D[i, j] for j in range(n) if y[j] != y[i]), default=np.inf) for i in range(n)]
    noise = [variant == 3 and majority(y, nearest_left(D, everything, i, 3)) not in (None, y[i]) for i in range(n)]
    left, order = list(range(n)), []
    while left:
        score = dict.fromkeys(left, 0)
        for i in left if variant == 1 else everything:
            near = nearest_left(D, left, i, 4)
            correct = majority(y, near[:3]) == y[i]
            for x in near[:3]:
                without = [j for j in near if j != x][:3]
                score[x] += int(majority(y, without) == y[i]) - int(correct)
        removed = max(left, key=lambda i: (noise[i], score[i], enemy[i] if variant >= 2 else 0.0, i))
        left.remove(removed)
        order.insert(0, removed)
    return order
