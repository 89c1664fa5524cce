"""Simulation of the engine: a model under given traffic on a given machine, in simulated time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer, most_probable
from anystream.anytime.budget import Budget
from anystream.runtime.cached_answers import CachedAnswers
from anystream.runtime.clock import SimulatedClock
from anystream.runtime.contracts import AnsweredRecords, PollResult
from anystream.runtime.engine import Engine, Turn
from anystream.runtime.queue import OverflowPolicy, RecordQueue
from anystream.runtime.records import Records
from anystream.runtime.replay import Replay, at_times
from anystream.runtime.row_hash import check_rows, describe_rows
from anystream.runtime.schedulers.contract import Scheduler
from anystream.runtime.step_cost import Measurement, fit_costs, steps_of_work
from anystream.runtime.summary import Summary


@dataclass(frozen=True, slots=True)
class MachineCost:
    """Cost of work in seconds: per call, per record of a batch, and per step.

    The first step of a record costs as much as `first_step` of the others. `measure` returns the costs of a model on
    this machine; `scale(2.0)` those on a machine twice as fast.
    """

    call_s: float
    record_s: float
    step_s: float
    first_step: float = 1.0

    @classmethod
    def measure(cls, model: Any, X: NDArray[np.float64], *, repeats: int = 5) -> MachineCost:
        """Time batches of different sizes and depths, and use the shortest time of each.

        Parameters
        ----------
        model : anytime classifier
            A fitted one.
        X : array of shape (n_records, n_features)
            Typical records.
        repeats : int, default=5
            How often each batch is classified.
        """
        measured = []
        for n in (1, 32, 256, 2048):
            batch = np.ascontiguousarray(X[np.arange(n) % len(X)])
            for steps in (0, 1, 10, 50):
                times_s = []
                for _ in range(repeats):
                    began = time.perf_counter()
                    answer = model.classify(batch, budget=steps)
                    times_s.append(time.perf_counter() - began)
                stepped = int(np.count_nonzero(answer.steps))
                measured.append(Measurement(n, int(answer.steps.sum()), stepped, min(times_s)))
        found = fit_costs(measured, 1e-9)
        return cls(max(found.call_s, 1e-9), max(found.record_s, 1e-9), found.step_s, found.first_step)

    def scale(self, speed: float) -> MachineCost:
        """Return the costs on a machine `speed` times as fast."""
        return MachineCost(self.call_s / speed, self.record_s / speed, self.step_s / speed, self.first_step)

    def to_json(self) -> dict[str, float]:
        """Return the seconds of a call, a record, the first step of a record and a further one."""
        first_s = self.first_step * self.step_s
        return {"call": self.call_s, "record": self.record_s, "first_step": first_s, "step": self.step_s}

    def records_per_s(self, steps: float) -> float:
        """Return the throughput at `steps` steps per record, in large batches."""
        return 1.0 / (self.record_s + (steps + min(steps, 1.0) * (self.first_step - 1.0)) * self.step_s)


class SimulatedModel:
    """A model whose work takes simulated time.

    Its answers are real; a time limit is turned into the records and steps that it would allow.

    Parameters
    ----------
    model : anytime classifier
        The classifier.
    clock : SimulatedClock
        It advances by the cost of each call.
    cost : MachineCost
        The cost of work.
    """

    def __init__(self, model: Any, clock: SimulatedClock, cost: MachineCost) -> None:
        self._model = model
        self._clock = clock
        self._cost = cost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def classify(self, X: NDArray[np.float64], *, budget: Budget) -> Answer:
        """Classify records, and advance the clock by the time that it would take."""
        cost, steps, n = self._cost, budget.steps, len(X)
        n_reached = n
        if budget.until is not None and n:
            left_s = budget.until - self._clock.now() - cost.call_s
            n_reached = max(min(int(left_s / cost.record_s), n), 1)
            work = (left_s / n - cost.record_s) / cost.step_s
            affordable = max(int(steps_of_work(work, cost.first_step)), 0)
            steps = affordable if steps is None else min(steps, affordable)
        answer: Answer = self._model.classify(X[:n_reached], budget=Budget(steps=steps))
        work = float(answer.steps.sum()) + float(np.count_nonzero(answer.steps)) * (cost.first_step - 1.0)
        seconds = cost.call_s + n_reached * cost.record_s + work * cost.step_s
        self._clock.sleep(seconds)
        answer.elapsed_s = seconds
        return answer if n_reached == n else self._add_unreached(answer, n - n_reached)

    def _add_unreached(self, answer: Answer, n: int) -> Answer:
        """Return an answer with `n` more records, which were not reached."""
        classes = self._model.classes_
        prior = getattr(self._model, "prior_proba", lambda: np.full(len(classes), 1.0 / len(classes)))()
        proba = np.tile(prior, (n, 1))
        return Answer(
            np.concatenate([answer.labels, most_probable(classes, proba)]),
            np.concatenate([answer.proba, proba]),
            np.concatenate([answer.steps, np.zeros(n, dtype=np.int64)]),
            np.concatenate([answer.certified, np.zeros(n, dtype=np.bool_)]),
            answer.elapsed_s,
            np.arange(len(answer) + n) < len(answer),
            confident=np.concatenate([answer.confident, np.zeros(n, dtype=np.bool_)]),
        )


class RepeatingSource:
    """A source that repeats the records of a table.

    Parameters
    ----------
    X, y : array
        Records and, if known, their labels.
    n_records : int
        Number of records in all.
    """

    def __init__(self, X: NDArray[np.float64], y: Any | None, n_records: int) -> None:
        self._X = np.ascontiguousarray(X, dtype=np.float64)
        self._labels = None if y is None else np.asarray(y, dtype=object)
        self._n_records = n_records
        self.offset = 0

    @property
    def done(self) -> bool:
        """Whether all records were polled."""
        return self.offset >= self._n_records

    def poll(self, max_records: int) -> PollResult:
        """Return the next records."""
        numbers = np.arange(self.offset, min(self.offset + max_records, self._n_records))
        self.offset += len(numbers)
        rows = numbers % len(self._X)
        label = None if self._labels is None else self._labels[rows]
        return PollResult(Records.from_features(self._X.take(rows, axis=0), offset=numbers, label=label))

    def wait(self, seconds: float) -> None:
        """Return at once: all records are ready."""

    def fingerprint(self) -> dict[str, Any]:
        """Return the number of rows of the table, and a hash of them."""
        return describe_rows(self._X)

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from record `offset`."""
        check_rows(self._X, fingerprint)
        self.offset = offset

    def acknowledge(self, offset: int) -> None:
        """Do nothing: the table stays in memory."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class NullSink:
    """A sink that drops all answers: the summary has the figures."""

    def write(self, answers: AnsweredRecords) -> None:
        """Drop the answers."""

    def flush(self) -> None:
        """Do nothing."""

    def mark(self, *, complete: bool) -> dict[str, Any]:
        """Return nothing: there is nothing to come back to."""
        return {}

    def sync(self) -> None:
        """Do nothing."""

    def rewind(self, mark: dict[str, Any] | None) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def simulate(
    model: Any,
    arrival_times_s: NDArray[np.float64],
    X: NDArray[np.float64],
    y: Any | None = None,
    *,
    scheduler: Scheduler,
    cost: MachineCost,
    within_s: float | None = None,
    capacity: int = 100_000,
    overflow: OverflowPolicy = "block",
    batch_s: float = 0.004,
    observer: Callable[[Turn], None] | None = None,
) -> Summary:
    """Run the engine under given traffic in simulated time.

    Parameters
    ----------
    model : anytime classifier
        The classifier.
    arrival_times_s : array
        Ascending instants, in seconds, at which records arrive; see `anystream.runtime.workloads`.
    X, y : array
        Records, repeated as often as needed, and their labels if known.
    scheduler : Scheduler
        Decides which records are classified next and with how many steps.
    cost : MachineCost
        The cost of work on the simulated machine.
    within_s : float, optional
        Seconds from arrival to the deadline.
    capacity, overflow
        Of the queue; see `RecordQueue`.
    batch_s : float, default=0.004
        Seconds that a batch should take.
    observer : callable, optional
        Called with a `Turn` after every turn.
    """
    clock = SimulatedClock()
    row_numbers = np.arange(len(X), dtype=np.float64)[:, np.newaxis]
    source = Replay(RepeatingSource(row_numbers, y, len(arrival_times_s)), at_times(arrival_times_s), clock)
    engine = Engine(
        SimulatedModel(CachedAnswers(model, X), clock, cost),
        source,
        NullSink(),
        scheduler=scheduler,
        within_s=within_s,
        queue=RecordQueue(capacity, overflow),
        clock=clock,
        batch_s=batch_s,
        observer=observer,
    )
    return engine.run()
