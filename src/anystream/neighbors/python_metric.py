"""Distances measured by a Python function of two records."""

from __future__ import annotations

import math
import reprlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.errors import RecordError

PythonMetric = Callable[[Any, Any], float]

MAX_ORDERED = 20_000
"""Maximum number of records that can be ordered: their distances take 8 n^2 bytes."""
MAX_ORDERED_SILENTLY = 500
"""Ordering more records than this warns about the number of calls."""


def measure_distance(metric: PythonMetric, x: Any, exemplar: Any) -> float:
    """Return the distance of two records; ValueError if the metric returned something that is not a distance."""
    returned = metric(x, exemplar)
    try:
        value = float(returned)
    except (TypeError, ValueError):
        raise ValueError(f"the metric returned {returned!r} for two records; a distance is a number") from None
    if math.isnan(value) or value < 0:
        raise ValueError(f"the metric returned {value} for two records; a distance is 0 or more")
    return value


def measure_query(metric: PythonMetric, x: Any, exemplar: Any) -> float:
    """Return the distance of a record to classify; RecordError if the metric raised or did not return a distance."""
    try:
        return measure_distance(metric, x, exemplar)
    except RecordError:
        raise
    except Exception as error:
        raise RecordError(
            f"the record {reprlib.repr(x)} cannot be compared with an exemplar: {type(error).__name__}: {error}"
        ) from error


def measure_all_pairs(metric: PythonMetric, records: Sequence[Any]) -> NDArray[np.float64]:
    """Return the distances of all pairs, each computed once: the metric must be symmetric."""
    n = len(records)
    if n > MAX_ORDERED:
        raise ValueError(f"{n} records are too many to be ordered by a Python metric; use ordering='random'")
    if n > MAX_ORDERED_SILENTLY:
        warnings.warn(
            f"ordering {n} records calls the metric {n * (n - 1) // 2} times, in Python; a named metric is far faster, "
            "and ordering='random' needs no calls",
            stacklevel=2,
        )
    distances = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            distances[i, j] = distances[j, i] = measure_distance(metric, records[i], records[j])
    return distances
