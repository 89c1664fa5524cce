"""An engine in simulated time on records of memory, and a scheduler's input."""

import numpy as np

from anystream.connectors.memory import MemoryDeadLetters, MemorySink, MemorySource
from anystream.runtime import (
    Engine,
    MachineCost,
    RecordQueue,
    Records,
    Replay,
    SchedulerContext,
    SimulatedClock,
    SimulatedModel,
    StepCost,
    at_times,
)
from runtime.models import Threshold

COST = MachineCost(call_s=1e-4, record_s=1e-3, step_s=1e-3)


def simulated_engine(
    times, *, scheduler, within_s=1.0, overflow="block", capacity=20, X=None, y=None, model=None, **options
):
    """The engine, its sink, its dead letters and its clock."""
    clock = SimulatedClock()
    X = np.where(np.arange(len(times)) % 2, 1.0, -1.0)[:, None] if X is None else X
    source = Replay(MemorySource(X, y), at_times(times), clock)
    sink, dead_letters = MemorySink(), MemoryDeadLetters()
    engine = Engine(
        SimulatedModel(model or Threshold(), clock, COST),
        source,
        sink,
        scheduler=scheduler,
        within_s=within_s,
        queue=RecordQueue(capacity, overflow),
        dead_letters=dead_letters,
        clock=clock,
        **options,
    )
    return engine, sink, dead_letters, clock


def scheduler_context(deadlines, *, cost=None, now=0.0, arrivals_per_s=0.0, batch_s=0.004, capacity=10_000):
    """The input of a scheduler with records of these deadlines in the queue, which arrived at 0."""
    queue = RecordQueue(capacity)
    n = len(deadlines)
    due = np.sort(np.asarray(deadlines, dtype=float))
    records = Records.from_features(np.zeros((n, 1)), deadline=due, arrival=np.zeros(n))
    records.sequence = np.arange(n)
    queue.enqueue(records)
    return SchedulerContext(queue, now, cost or StepCost(1e-9, 1e-9, 1e-3), batch_s, 10_000, arrivals_per_s)
