"""On-time accuracy: records arrive at a fixed rate, and an answer counts if it is right and on time.

Every method has the same arrivals, queue and deadline, and the clock counts the processor time of this process. An
anytime classifier gets its steps from the runtime's `DeadlineShare`. The others classify at their own cost, with the
better of two policies: records wait (`block`), or the oldest are dropped (`shed_oldest`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer
from anystream.compare.candidate import NO_LABEL, Candidate
from anystream.compare.processor_clock import OnClock, ProcessorClock
from anystream.compare.settings import Settings
from anystream.compare.tasks import Task
from anystream.runtime import (
    DeadlineShare,
    Engine,
    FixedBudget,
    NullSink,
    RecordQueue,
    RepeatingSource,
    Replay,
    Scheduler,
    at_times,
)

QUEUE_CAPACITY = 2_000
_GRACE = 4  # times the deadline after the last arrival when a run ends: whatever still waits is late


class UnbudgetedModel:
    """A method without a budget, with the interface that the engine needs."""

    def __init__(self, candidate: Candidate, n_features: int, n_classes: int) -> None:
        self._candidate = candidate
        self.classes_ = np.arange(n_classes)
        self.n_features_in_ = n_features

    def classify(self, X: NDArray[np.float64], *, budget: Any) -> Answer:
        """Classify records, whatever the budget; a record without a label counts as one of class 0."""
        labels = self._candidate.predict(X)
        labels = np.where(labels == NO_LABEL, 0, labels)
        ones = np.ones(len(X), dtype=np.int64)
        return Answer(labels, np.eye(len(self.classes_))[labels], ones, ones.astype(np.bool_), 0.0)


class _StreamOver(Exception):  # noqa: N818  not an error
    """The stream is over, and every record that still waits is late."""


def measure_on_time(candidate: Candidate, task: Task, rate: float, settings: Settings) -> float:
    """Return the share of all arrivals that get the right label on time.

    Parameters
    ----------
    candidate : Candidate
        A trained method.
    task : Task
        Its test records arrive, in a random order.
    rate : float
        Records per second of processor time.
    settings : Settings
        Deadline, length of the stream and seed.
    """
    model = candidate.anytime_model
    if model is not None:
        max_steps = model.budget
        return _run(model, DeadlineShare(max_steps=max_steps), "answer_now", task, rate, settings)
    unbudgeted = UnbudgetedModel(candidate, task.n_features, task.n_classes)
    policies: tuple[Literal["block", "shed_oldest"], ...] = ("block", "shed_oldest")
    return max(_run(unbudgeted, FixedBudget(1), policy, task, rate, settings) for policy in policies)


def _run(
    model: Any,
    scheduler: Scheduler,
    overflow: Literal["block", "answer_now", "shed_oldest"],
    task: Task,
    rate: float,
    settings: Settings,
) -> float:
    rng = np.random.default_rng(settings.seed)
    n_records = max(round(rate * settings.stream_s), 1)
    times = np.sort(rng.uniform(0.0, settings.stream_s, n_records))
    order = rng.permutation(len(task.y_test))
    clock = ProcessorClock()
    source = Replay(RepeatingSource(task.X_test[order], task.y_test[order], n_records), at_times(times), clock)
    engine = Engine(
        OnClock(model, clock),
        source,
        NullSink(),
        scheduler=scheduler,
        within_s=settings.within_s,
        queue=RecordQueue(QUEUE_CAPACITY, overflow),
        clock=clock,
    )
    started: list[float] = []

    def end_when_late(turn: Any) -> None:
        if not started:
            started.append(turn.now)
        if turn.now > started[0] + times[-1] + _GRACE * settings.within_s:
            raise _StreamOver

    engine.watch(end_when_late)
    with suppress(_StreamOver):
        engine.run()
    return engine.summary.right_on_time / n_records  # records that were never taken count as well
