"""Distances as they are defined, one pair at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def dtw(x: NDArray[np.float64], e: NDArray[np.float64], band: int) -> float:
    """Return the minimum cost of a warping path with |i - j| <= band."""
    n = len(x)
    cost = np.full((n + 1, n + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(n):
        for j in range(max(0, i - band), min(n, i + band + 1)):
            cost[i + 1, j + 1] = (x[i] - e[j]) ** 2 + min(cost[i, j], cost[i, j + 1], cost[i + 1, j])
    return float(np.sqrt(cost[n, n]))


def rotation(x: NDArray[np.float64], e: NDArray[np.float64]) -> float:
    """Return the minimum Euclidean distance over all circular shifts."""
    return float(min(np.linalg.norm(x - np.roll(e, shift)) for shift in range(len(e))))


def edit(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Return the minimum number of insertions, deletions and replacements."""
    row = list(range(len(b) + 1))
    for i, symbol in enumerate(a):
        row, above = [i + 1], row
        for j, other in enumerate(b):
            row.append(min(above[j] + (symbol != other), above[j + 1] + 1, row[j] + 1))
    return row[-1]


def gower(x: NDArray[np.float64], e: NDArray[np.float64], ranges: NDArray[np.float64], categorical: list[int]) -> float:
    """Return the mean over features of 0 or 1 for categories and |x - e| / range for numbers."""
    parts = np.abs(x - e) / np.where(ranges > 0, ranges, 1.0)
    parts[categorical] = x[categorical] != e[categorical]
    return float(parts.mean())
