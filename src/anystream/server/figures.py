"""Figures of a served model: the one place that ``/metrics`` and ``/v1/events`` read.

The engine's thread counts answers, the event loop counts requests; `ModelFigures.snapshot` returns both.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.contracts import AnsweredRecords
from anystream.runtime.engine import Turn

_STEPS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_SECONDS = tuple(digit * power for power in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0) for digit in (1, 2, 5))
_TIME_LEFT_S = (-1.0, -0.1, -0.01, -0.001, -0.0001, 0.0, *_SECONDS)
_WAITED_S = (*_SECONDS, 10.0)
_BATCH = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 16384)
_FEW = 16  # values
_FROM_SUMMARY = ("judged", "right", "right_on_time", "withdrawn")


class Histogram:
    """Counts of values in buckets; bucket i counts those up to bound i and above the bound before.

    Parameters
    ----------
    bounds : sequence of float
        Upper bounds, ascending; a last bucket counts everything above.

    Examples
    --------
    >>> histogram = Histogram((1.0, 10.0))
    >>> histogram.observe([0.5, 1.0, 7.0, 90.0])
    >>> histogram.to_json()
    {'bounds': [1.0, 10.0], 'counts': [2, 1, 1], 'sum': 98.5}
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = list(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self._sum = 0.0

    def observe(self, values: Sequence[float] | NDArray[Any]) -> None:
        """Count values."""
        if len(values) <= _FEW:  # quicker than arrays
            for value in values.tolist() if isinstance(values, np.ndarray) else values:
                self._counts[bisect_left(self._bounds, value)] += 1
                self._sum += value
            return
        found = np.asarray(values, dtype=np.float64)
        counts = np.bincount(np.searchsorted(self._bounds, found), minlength=len(self._counts))
        self._counts = list(map(add, self._counts, counts.tolist()))
        self._sum += float(found.sum())

    def to_json(self) -> dict[str, Any]:
        """Return bounds, counts and the sum of all values."""
        return {"bounds": list(self._bounds), "counts": list(self._counts), "sum": self._sum}


class ModelFigures:
    """Counts and present values of one model, over all versions of it.

    Any thread may call any method.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter(
            dict.fromkeys(("requests", "records", "answers", "on_time", "late", "certified", "confident", "steps"), 0)
            | dict.fromkeys((*_FROM_SUMMARY, "rejected", "acknowledged", "unlearned"), 0)
        )
        self._refused: Counter[str] = Counter()
        self._present: dict[str, float] = {
            "queue_length": 0,
            "queue_age_s": 0.0,
            "arrivals_per_s": 0.0,
            "batch_size": 0,
            "budget": 0,
            "steps_mean": 0.0,
        }
        self._histograms = {
            "steps": Histogram(_STEPS),
            "time_left_s": Histogram(_TIME_LEFT_S),
            "waited_s": Histogram(_WAITED_S),
            "batch_size": Histogram(_BATCH),
        }

    def count(self, name: str, n: int = 1) -> None:
        """Add to a count."""
        with self._lock:
            self._counts[name] += n

    def count_refusal(self, reason: str) -> None:
        """Count a request that was refused."""
        with self._lock:
            self._refused[reason] += 1

    def observe_answers(self, answers: AnsweredRecords, time_left_s: Sequence[float]) -> None:
        """Count a batch of answers.

        Parameters
        ----------
        answers : AnsweredRecords
            The batch.
        time_left_s : sequence of float
            Seconds from the answer to the deadline of each request that was finished, negative where it is late.
        """
        n, n_late = len(answers.key), int(np.count_nonzero(answers.late))
        steps, certified = int(answers.steps.sum()), int(np.count_nonzero(answers.certified))
        confident = 0 if answers.confident is None else int(np.count_nonzero(answers.confident))
        with self._lock:
            self._counts["answers"] += n
            self._counts["late"] += n_late
            self._counts["on_time"] += n - n_late
            self._counts["steps"] += steps
            self._counts["certified"] += certified
            self._counts["confident"] += confident
            self._present["steps_mean"] = steps / max(n, 1)
            self._histograms["steps"].observe(answers.steps)
            self._histograms["waited_s"].observe(answers.waited_s)
            self._histograms["time_left_s"].observe(time_left_s)
            self._histograms["batch_size"].observe([n])

    def observe_turn(self, turn: Turn, before: dict[str, int], queue_age_s: float) -> None:
        """Note the state of the engine after a turn.

        Parameters
        ----------
        turn : Turn
            The turn.
        before : dict
            Counts of the engine's summary that were added already; it is brought up to date.
        queue_age_s : float
            Seconds since the arrival of the record that waits longest.
        """
        with self._lock:
            self._present["queue_length"] = turn.queue_length
            self._present["queue_age_s"] = queue_age_s
            self._present["arrivals_per_s"] = turn.arrivals_per_s
            if turn.batch_size:
                self._present["batch_size"] = turn.batch_size
                self._present["budget"] = -1 if turn.steps is None else turn.steps
            for name in _FROM_SUMMARY:
                total = getattr(turn.summary, name)
                self._counts[name] += total - before.get(name, 0)
                before[name] = total

    def snapshot(self) -> dict[str, Any]:
        """Return all figures as JSON values: counts since the start, refusals by reason, present values, histograms."""
        with self._lock:
            return {
                "counts": dict(self._counts),
                "refused": dict(self._refused),
                "present": dict(self._present),
                "histograms": {name: histogram.to_json() for name, histogram in self._histograms.items()},
            }
