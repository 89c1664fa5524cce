"""Query that compares one record with exemplars by a Python function."""

from __future__ import annotations

import math
import time
from bisect import insort
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream._native import Calibration, StopToken
from anystream.neighbors.exemplar_list import ExemplarList
from anystream.neighbors.python_metric import PythonMetric, measure_query


class CallableQuery:
    """One record being compared with exemplars; it has the methods of a native query.

    Parameters
    ----------
    metric : callable
        Distance of two records.
    exemplars : ExemplarList
        The exemplars.
    n_classes : int
        Number of classes.
    record : object
        The record to classify.
    k : int
        Number of nearest exemplars that vote.
    state : tuple, optional
        The `state` of an earlier query of the same record, to be resumed.
    left_out : int, default=-1
        Position of an exemplar that is not compared; -1 for none.
    """

    def __init__(
        self,
        metric: PythonMetric,
        exemplars: ExemplarList,
        n_classes: int,
        record: Any,
        k: int,
        *,
        state: tuple[Any, ...] | None = None,
        left_out: int = -1,
    ) -> None:
        self._metric, self._exemplars, self._n_classes = metric, exemplars, n_classes
        self._record, self._k, self._left_out = record, k, left_out
        # The nearest (distance, serial, position of an exemplar) and the number compared; replaced as a whole at every
        # step, so that other threads can read it.
        self._progress: tuple[tuple[tuple[float, int, int], ...], int] = (), 0
        if state is None:
            self._compare(exemplars.setup)
        else:
            self._resume(state)

    def _resume(self, state: tuple[Any, ...]) -> None:
        serials = self._exemplars.serials
        try:
            *nearest, position = state
            pairs = [tuple(nearest)] if self._k == 1 else [tuple(each) for each in nearest[0]]
            if not (self._exemplars.setup <= position <= len(serials) and len(pairs) <= self._k):
                raise ValueError
            found = sorted((float(distance), serials[i], int(i)) for i, distance in pairs if i >= 0)
            if not all(distance >= 0 for distance, _, _ in found):
                raise ValueError
            self._progress = tuple(found), int(position)
        except (IndexError, TypeError, ValueError):
            raise ValueError("not the state of a query of this model; use the model that the query was of") from None

    @property
    def steps(self) -> int:
        """Exemplars compared so far, beyond the first of each class."""
        return self._progress[1] - self._exemplars.setup

    @property
    def exhausted(self) -> bool:
        """Whether all exemplars were compared."""
        return self._progress[1] >= len(self._exemplars)

    @property
    def certified(self) -> bool:
        """Whether no further step could change the label: nothing is known of the metric, so only if none is left."""
        return self.exhausted

    def refine(self, steps: int = -1, nanoseconds: int = -1, stop: StopToken | None = None) -> int:
        """Compare further exemplars within the limits (-1: none); return the steps taken."""
        until = math.inf if nanoseconds < 0 else time.monotonic() + nanoseconds / 1e9
        max_steps = math.inf if steps < 0 else steps
        taken = 0
        while taken < max_steps and not self.exhausted:
            if (stop is not None and stop.is_set()) or (until < math.inf and time.monotonic() >= until):
                break
            self._compare(self._progress[1] + 1)
            taken += 1
        return taken

    def _compare(self, end: int) -> None:
        before, start = self._progress
        nearest = list(before)
        for position in range(start, end):
            if position == self._left_out:
                continue
            distance = measure_query(self._metric, self._record, self._exemplars.records[position])
            insort(nearest, (distance, self._exemplars.serials[position], position))
            del nearest[self._k :]
        self._progress = tuple(nearest), end

    def label(self) -> int:
        """Return the number of the most probable class."""
        return int(self.proba().argmax())

    def proba(self, calibration: Calibration | None = None) -> NDArray[np.float64]:
        """Return the shares of the votes, calibrated or raw."""
        nearest, _ = self._progress
        if not nearest:
            return np.full(self._n_classes, 1 / self._n_classes)
        votes = [self._exemplars.labels[position] for _, _, position in nearest]
        proba = np.bincount(votes, minlength=self._n_classes) / len(votes)
        if calibration is not None:
            calibration.apply(proba[np.newaxis], np.array([self.steps]))
        return proba

    def state(self) -> tuple[Any, ...]:
        """Return the nearest exemplar, its distance and the position; all of the nearest where several vote."""
        found, compared = self._progress
        nearest = tuple((position, distance) for distance, _, position in found)
        if self._k > 1:
            return nearest, compared
        return *(nearest[0] if nearest else (-1, 0.0)), compared

    def nearest(self) -> list[tuple[int, float]]:
        """Return serials and distances of the nearest exemplars so far."""
        return [(serial, distance) for distance, serial, _ in self._progress[0]]
