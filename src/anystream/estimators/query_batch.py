"""Batches that are classified in Python: queries that advance in rounds, and records in portions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget

_ALWAYS_REACHED = 8  # records at the start of a batch that get an answer of their own even without any time
_PORTION_S = 1e-4  # a portion is to take about this long,
_PORTION_COST = 1.5  # or so much longer than the shortest, which costs what a single record does


class Refinable(Protocol):
    """Query that counts its steps."""

    @property
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def exhausted(self) -> bool:
        """Whether no step is left."""

    def refine(self, steps: int) -> Any:
        """Take at most this many steps."""


_Query = TypeVar("_Query", bound=Refinable)


def refine_batch(records: Iterable[Any], open_query: Callable[[Any], _Query], budget: Budget) -> list[_Query]:
    """Open and refine queries within a budget; return those of the records that were reached, the first ones.

    Under a deadline or a stop token all of them advance one step per round.
    """
    max_steps = math.inf if budget.steps is None else budget.steps
    if not budget.timed:
        queries = [open_query(record) for record in records]
        for query in queries:
            query.refine(2**62 if budget.steps is None else budget.steps)
        return queries
    limits = budget.start()
    queries = []
    for i, record in enumerate(records):
        if i >= _ALWAYS_REACHED and limits.is_over():
            return queries
        queries.append(open_query(record))
    active = [query for query in queries if not query.exhausted and query.steps < max_steps]
    while active:
        for query in active:
            if limits.is_over():
                return queries
            query.refine(1)
        active = [query for query in active if not query.exhausted and query.steps < max_steps]
    return queries


def batch_result(
    queries: Sequence[Refinable], proba: Sequence[NDArray[np.float64]], shape: tuple[int, int]
) -> BatchResult:
    """Return the result of a batch of which the first records have queries; `shape` is that of all probabilities."""
    n_reached = len(queries)
    result = BatchResult(
        np.empty(shape),
        np.zeros(shape[0], dtype=np.int64),
        np.zeros(shape[0], dtype=np.bool_),
        np.arange(shape[0]) < n_reached,
    )
    result.proba[:n_reached] = np.reshape(proba, (n_reached, shape[1]))
    result.steps[:n_reached] = [query.steps for query in queries]
    result.certified[:n_reached] = [query.exhausted for query in queries]
    return result


def classify_in_portions(
    records: NDArray[np.float64], budget: Budget, classify: Callable[[NDArray[np.float64], Budget], BatchResult]
) -> BatchResult:
    """Classify records portion by portion, if the clock or another thread may end the work between two of them.

    No portion is begun that would end after the deadline if it took as long as the last one beyond its share.

    Parameters
    ----------
    records : array of shape (n_records, n_features)
        Validated records.
    budget : Budget
        Limits; a portion gets its share of the time.
    classify : callable
        Classifies some records within a budget.
    """
    if not budget.timed or len(records) <= _ALWAYS_REACHED:
        return classify(records, budget)
    limits = budget.start()
    parts: list[BatchResult] = []
    first, length = 0, _ALWAYS_REACHED
    shortest_s, overhead_s = math.inf, 0.0
    while first < len(records):
        if first > 0 and limits.ends_within(overhead_s):
            break
        started = time.monotonic()
        portion = records[first : first + length]
        share = limits.share(len(portion) / (len(records) - first))
        parts.append(classify(portion, share))
        ended = time.monotonic()
        lasted_s = ended - started
        overhead_s = 0.0 if share.until is None else max(0.0, ended - share.until)
        first += len(portion)
        shortest_s = min(shortest_s, lasted_s)
        if lasted_s >= max(_PORTION_S, _PORTION_COST * shortest_s):
            length = max(1, length // 2)
        elif limits.until is None or ended + 2 * lasted_s < limits.until:
            length *= 2
    return _join(parts, len(records))


def _join(parts: Sequence[BatchResult], n_records: int) -> BatchResult:
    result = BatchResult(
        np.empty((n_records, parts[0].proba.shape[1])),
        np.zeros(n_records, dtype=np.int64),
        np.zeros(n_records, dtype=np.bool_),
        np.zeros(n_records, dtype=np.bool_),
    )
    assert result.reached is not None
    first = 0
    for part in parts:
        rows = slice(first, first + len(part.steps))
        result.proba[rows], result.steps[rows], result.certified[rows] = part[:3]
        result.reached[rows] = True if part.reached is None else part.reached
        first = rows.stop
    return result
