"""Simulation of one worker of a cluster: the engine itself, on a sample of its records and in simulated time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.clock import SimulatedClock
from anystream.runtime.contracts import AnsweredRecords, PollResult
from anystream.runtime.engine import Engine, Turn
from anystream.runtime.queue import OverflowPolicy, RecordQueue
from anystream.runtime.recorded_answers import RecordedAnswers
from anystream.runtime.records import Records
from anystream.runtime.schedulers.contract import Scheduler
from anystream.runtime.simulation import MachineCost, NullSink, SimulatedModel

_MAX_BATCH = 16_384  # default of the engine: maximum number of records in a batch


class SampledRecords(NamedTuple):
    """Every w-th record of a stream, in the order in which they can be taken; each stands for w records.

    Parameters
    ----------
    arrival_s : array of shape (n,)
        When each record arrived, in seconds from the start of the traffic.
    ready_s : array of shape (n,), ascending
        When a worker can take it: later than its arrival if it was taken over from a lost worker.
    rows : array of shape (n,)
        Row of the table of typical records that each is.
    """

    arrival_s: NDArray[np.float64]
    ready_s: NDArray[np.float64]
    rows: NDArray[np.int64]

    def take(self, which: NDArray[Any]) -> SampledRecords:
        """Return some of the records."""
        return SampledRecords(*(column[which] for column in self))


class WorkerRun(NamedTuple):
    """Fate of the records of one worker; row i of every column belongs to record i.

    Parameters
    ----------
    records : SampledRecords
        The records.
    waited_s : array of shape (n,)
        Seconds from arrival to answer; for a record without an answer, to the end of the simulation.
    steps : array of shape (n,)
        Steps that the answer took; -1 without an answer.
    """

    records: SampledRecords
    waited_s: NDArray[np.float64]
    steps: NDArray[np.int64]

    def take(self, which: NDArray[Any]) -> WorkerRun:
        """Return the fate of some of the records."""
        return WorkerRun(self.records.take(which), self.waited_s[which], self.steps[which])


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """Settings of the engine on each worker.

    Parameters
    ----------
    within_s : float
        Seconds from arrival to the deadline.
    capacity, overflow
        Of the queue, in records; see `RecordQueue`.
    batch_s : float, default=0.004
        Seconds that a batch should take.
    """

    within_s: float
    capacity: int = 100_000
    overflow: OverflowPolicy = "block"
    batch_s: float = 0.004


def simulate_worker(
    answers: RecordedAnswers,
    records: SampledRecords,
    *,
    weight: int,
    scheduler: Scheduler,
    cost: MachineCost,
    settings: WorkerSettings,
    end_s: float = math.inf,
) -> WorkerRun:
    """Run the engine on one worker's records in simulated time.

    Parameters
    ----------
    answers : RecordedAnswers
        Answers of the model to the table of typical records.
    records : SampledRecords
        The records of the worker.
    weight : int
        Number of records that each of them stands for; w of the notes.
    scheduler : Scheduler
        Decides which records are classified next and with how many steps.
    cost : MachineCost
        The cost of work on this worker.
    settings : WorkerSettings
        Deadline, queue and batch.
    end_s : float
        When the simulation ends; what has no answer by then has none.

    Notes
    -----
    Each sampled record costs as much as the w records that it stands for: w·r at budget 0 and w·s per step, while a
    call costs c as before. A batch of n/w sampled records then takes c + n·r + S·s seconds, exactly as the n records
    would, and the scheduler, whose positions and costs are both counted in sampled records, plans the same number of
    steps. With w = 1 this is `simulate`. What the sample leaves out is the order within w successive records, that is
    w / rate seconds.
    """
    clock = SimulatedClock()
    scaled = MachineCost(cost.call_s, weight * cost.record_s, weight * cost.step_s, cost.first_step)
    source, sink = _SampledSource(records, clock), _AnswerColumns(len(records.rows))
    engine = Engine(
        SimulatedModel(answers, clock, scaled),
        source,
        sink,
        scheduler=scheduler,
        within_s=settings.within_s,
        queue=RecordQueue(max(settings.capacity // weight, 1), settings.overflow),
        clock=clock,
        batch_s=settings.batch_s,
        max_records=max(_MAX_BATCH // weight, 1),
    )
    if end_s < math.inf:
        engine.watch(lambda turn: _stop_at(engine, turn, source.start_s + end_s))
    engine.run()
    last_s = end_s if end_s < math.inf else clock.now() - source.start_s
    missing = sink.steps < 0
    sink.waited_s[missing] = np.maximum(last_s - records.arrival_s[missing], 0.0)
    return WorkerRun(records, sink.waited_s, sink.steps)


def _stop_at(engine: Engine, turn: Turn, instant_s: float) -> None:
    if turn.now >= instant_s:
        engine.stop()


class _AnswerColumns(NullSink):
    """A sink that keeps the waiting time and the steps of each answer, by the number of its record."""

    def __init__(self, n_records: int) -> None:
        self.waited_s = np.zeros(n_records)
        self.steps = np.full(n_records, -1, dtype=np.int64)

    def write(self, answers: AnsweredRecords) -> None:
        """Keep the answers; a record that was not reached has none."""
        assert answers.offset is not None
        reached = slice(None) if answers.reached is None else answers.reached
        self.waited_s[answers.offset[reached]] = answers.waited_s[reached]
        self.steps[answers.offset[reached]] = answers.steps[reached]


class _SampledSource:
    """A source of sampled records, which can be taken from the instants `ready_s` on; it starts with the first poll."""

    def __init__(self, records: SampledRecords, clock: SimulatedClock) -> None:
        self._records = records
        self._features = (records.rows[:, np.newaxis] + 1).astype(np.float64)  # record 0 is that of the warm-up
        self._clock = clock
        self._ready_at = records.ready_s  # on the clock, from the first poll on
        self.start_s = math.nan
        self.offset = 0

    @property
    def done(self) -> bool:
        return self.offset >= len(self._features)

    def poll(self, max_records: int) -> PollResult:
        now = self._clock.now()
        if math.isnan(self.start_s):
            self.start_s = now
            self._ready_at = now + self._records.ready_s
        end = min(int(np.searchsorted(self._ready_at, now, side="right")), self.offset + max_records)
        rows = slice(self.offset, end)
        self.offset = end
        return PollResult(
            Records.from_features(
                self._features[rows],
                offset=np.arange(rows.start, rows.stop),
                arrival=self.start_s + self._records.arrival_s[rows],
            )
        )

    def wait(self, seconds: float) -> None:
        if not self.done:
            self._clock.sleep(min(seconds, max(float(self._ready_at[self.offset]) - self._clock.now(), 0.0)))

    def fingerprint(self) -> dict[str, Any]:
        return {}

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        self.offset = offset

    def acknowledge(self, offset: int) -> None:
        pass

    def close(self) -> None:
        pass
