"""Simulation of a cluster: how many workers some traffic needs, and what the loss of one changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.cluster_figures import ClusterFigures, Outcomes, recovery_time
from anystream.runtime.cluster_layout import ClusterFaults, ClusterLayout
from anystream.runtime.recorded_answers import RecordedAnswers
from anystream.runtime.schedulers.contract import Scheduler
from anystream.runtime.simulation import MachineCost
from anystream.runtime.worker_simulation import SampledRecords, WorkerRun, WorkerSettings, simulate_worker

PER_DEADLINE = 50
"""Records of a worker that are simulated one by one in the time from arrival to deadline; of more, every w-th."""
_MIN_QUEUE = 64  # sampled records that a queue can hold at least


@dataclass(frozen=True, slots=True)
class Traffic:
    """Rate of records of a whole stream, constant over pieces of time.

    Parameters
    ----------
    rates_per_s : array of shape (n_pieces,)
        Records per second in each piece.
    piece_s : float
        Length of a piece in seconds.
    """

    rates_per_s: NDArray[np.float64]
    piece_s: float

    @property
    def duration_s(self) -> float:
        """Length of the traffic."""
        return len(self.rates_per_s) * self.piece_s

    @property
    def n_records(self) -> float:
        """Expected number of records."""
        return float(self.rates_per_s.sum() * self.piece_s)

    @property
    def mean_rate_per_s(self) -> float:
        """Mean number of records per second."""
        return self.n_records / self.duration_s

    def draw_every(self, weight: int, share: float, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the arrival times of every `weight`-th record of a random share of the stream.

        Notes
        -----
        In a Poisson process of rate 1 the time between every w-th event has the distribution gamma(w). The times are
        drawn so, without the w - 1 events in between, and mapped through the cumulative rate.
        """
        expected = np.concatenate([[0.0], np.cumsum(self.rates_per_s * self.piece_s * share)])
        n = int(expected[-1] / weight + 10.0 * math.sqrt(expected[-1] / weight + 1.0)) + 10
        marks = np.cumsum(rng.gamma(weight, size=n))
        marks = marks[marks < expected[-1]]
        return np.asarray(np.interp(marks, expected, np.arange(len(expected)) * self.piece_s))


@dataclass(frozen=True, kw_only=True)
class ClusterSimulation:
    """What the simulations of all numbers of workers share.

    Parameters
    ----------
    answers : RecordedAnswers
        Answers of the model to the table of typical records.
    traffic : Traffic
        Records of the whole stream.
    cost : MachineCost
        The cost of work on a worker that is not slow.
    make_scheduler : callable
        Returns the scheduler of a worker.
    settings : WorkerSettings
        Deadline, queue and batch of a worker.
    faults : ClusterFaults
        Skew, stragglers, loss.
    seed : int, default=0
        Seed of partitions and arrivals.
    per_deadline : int
        Number of records of the busiest worker that are simulated one by one in the time to a deadline, at the mean
        rate. Times are exact to this fraction of the deadline.
    """

    answers: RecordedAnswers
    traffic: Traffic
    cost: MachineCost
    make_scheduler: Callable[[], Scheduler]
    settings: WorkerSettings
    faults: ClusterFaults
    seed: int = 0
    per_deadline: int = PER_DEADLINE

    def __post_init__(self) -> None:
        if self.per_deadline < 1:
            raise ValueError(f"per_deadline is {self.per_deadline}; use 1 record or more")
        if self.faults.n_lost and not self.faults.lost_at_s < self.traffic.duration_s:
            raise ValueError(
                f"workers are lost after {self.faults.lost_at_s:g} s, but the traffic takes only "
                f"{self.traffic.duration_s:g} s; lose them earlier"
            )


class WorkerTask(NamedTuple):
    """One worker to simulate.

    Parameters
    ----------
    worker : int
        Its number.
    n_alike : float
        How many times its traffic the workers have that it stands for, itself included.
    weight : int
        Number of records that each simulated record stands for.
    """

    worker: int
    n_alike: float
    weight: int


class WorkerOutcome(NamedTuple):
    """Runs of one worker: with all workers, and with the loss."""

    task: WorkerTask
    undisturbed: WorkerRun
    with_loss: WorkerRun


def plan_tasks(simulation: ClusterSimulation, layout: ClusterLayout) -> list[WorkerTask]:
    """Return the workers to simulate; each can be simulated in a process of its own."""
    largest = float((layout.shares + layout.taken_over).max()) * simulation.traffic.mean_rate_per_s
    weight = int(largest * simulation.settings.within_s / simulation.per_deadline)
    weight = max(min(weight, simulation.settings.capacity // _MIN_QUEUE), 1)
    return [WorkerTask(worker, n_alike, weight) for worker, n_alike in layout.choose_examples()]


def run_task(simulation: ClusterSimulation, layout: ClusterLayout, task: WorkerTask) -> WorkerOutcome:
    """Simulate one worker, with and without the loss."""
    records = _draw_records(simulation, layout, task)
    undisturbed = _run(simulation, layout, task, records)
    is_lost = task.worker in layout.lost
    if len(layout.lost) == 0 or (not is_lost and layout.taken_over[task.worker] == 0.0):
        return WorkerOutcome(task, undisturbed, undisturbed)
    if is_lost:
        kept = undisturbed.take(~_is_moved(simulation.faults, undisturbed))
        if layout.has_survivors:
            return WorkerOutcome(task, undisturbed, kept)
        replacement = _run(simulation, layout, task, _hand_over(simulation.faults, undisturbed))
        return WorkerOutcome(task, undisturbed, _join(kept, replacement))
    merged = _merge(records, _draw_taken_over(simulation, layout, task))
    return WorkerOutcome(task, undisturbed, _run(simulation, layout, task, merged))


def summarise(
    simulation: ClusterSimulation, layout: ClusterLayout, outcomes: Iterable[WorkerOutcome]
) -> ClusterFigures:
    """Return the figures of a cluster from the outcomes of its tasks."""
    outcomes = list(outcomes)
    before = Outcomes.gather([(found.undisturbed, _weight(found.task)) for found in outcomes], simulation.answers)
    within_s, faults = simulation.settings.within_s, simulation.faults
    record_load = simulation.traffic.mean_rate_per_s * simulation.cost.record_s
    busiest = float((layout.shares / layout.speeds).max()) * record_load
    figures = ClusterFigures(
        n_workers=len(layout.shares),
        busiest_at_budget_0=busiest,
        undisturbed=before.figures(within_s),
    )
    if len(layout.lost) == 0:
        return figures
    after = Outcomes.gather([(found.with_loss, _weight(found.task)) for found in outcomes], simulation.answers)
    touched = [found for found in outcomes if found.with_loss is not found.undisturbed]
    recovery_s = recovery_time(
        Outcomes.gather([(found.undisturbed, _weight(found.task)) for found in touched], simulation.answers),
        Outcomes.gather([(found.with_loss, _weight(found.task)) for found in touched], simulation.answers),
        within_s=within_s,
        lost_at_s=faults.lost_at_s,
        duration_s=simulation.traffic.duration_s,
    )
    figures.with_loss = after.figures(within_s)
    figures.recovery_s = recovery_s
    if recovery_s is not None:
        figures.after_recovery = after.since(faults.lost_at_s + recovery_s).figures(within_s)
    return figures


def simulate_cluster(simulation: ClusterSimulation, n_workers: int) -> ClusterFigures:
    """Simulate one number of workers in this process.

    Examples
    --------
    >>> answers = RecordedAnswers(np.full(2, 50), np.zeros(2, dtype=bool))
    >>> from anystream.runtime import DeadlineShare
    >>> simulation = ClusterSimulation(
    ...     answers=answers,
    ...     traffic=Traffic(np.full(4, 1e6), 0.25),
    ...     cost=MachineCost(call_s=30e-6, record_s=2e-6, step_s=0.2e-6),
    ...     make_scheduler=lambda: DeadlineShare(max_steps=50),
    ...     settings=WorkerSettings(within_s=0.05),
    ...     faults=ClusterFaults(n_stragglers=0, n_lost=0, skew=0.0),
    ...     per_deadline=20,
    ... )
    >>> [simulate_cluster(simulation, n).undisturbed.on_time > 0.99 for n in (1, 4)]  # a worker manages 500,000/s
    [False, True]
    """
    layout = ClusterLayout.draw(n_workers, simulation.faults, seed=simulation.seed)
    tasks = plan_tasks(simulation, layout)
    return summarise(simulation, layout, (run_task(simulation, layout, task) for task in tasks))


def _weight(task: WorkerTask) -> float:
    return task.weight * task.n_alike


def _run(simulation: ClusterSimulation, layout: ClusterLayout, task: WorkerTask, records: SampledRecords) -> WorkerRun:
    return simulate_worker(
        simulation.answers,
        records,
        weight=task.weight,
        scheduler=simulation.make_scheduler(),
        cost=simulation.cost.scale(float(layout.speeds[task.worker])),
        settings=simulation.settings,
        end_s=simulation.traffic.duration_s + simulation.settings.within_s,
    )


def _draw_records(simulation: ClusterSimulation, layout: ClusterLayout, task: WorkerTask) -> SampledRecords:
    """Return the worker's own records; they do not depend on which other workers are simulated."""
    rng = np.random.default_rng([simulation.seed, len(layout.shares), task.worker])
    arrival_s = simulation.traffic.draw_every(task.weight, float(layout.shares[task.worker]), rng)
    rows = rng.integers(simulation.answers.n_rows, size=len(arrival_s))
    return SampledRecords(arrival_s, arrival_s, rows)


def _draw_taken_over(simulation: ClusterSimulation, layout: ClusterLayout, task: WorkerTask) -> SampledRecords:
    """Return the records that a survivor takes over: those since the last checkpoint of the lost worker."""
    faults = simulation.faults
    rng = np.random.default_rng([simulation.seed, len(layout.shares), task.worker, 1])
    arrival_s = simulation.traffic.draw_every(task.weight, float(layout.taken_over[task.worker]), rng)
    arrival_s = arrival_s[arrival_s >= faults.lost_at_s - faults.replay_s]
    rows = rng.integers(simulation.answers.n_rows, size=len(arrival_s))
    return SampledRecords(arrival_s, np.maximum(arrival_s, faults.lost_at_s + faults.detect_s), rows)


def _is_moved(faults: ClusterFaults, run: WorkerRun) -> NDArray[np.bool_]:
    """Whether each record of a lost worker is classified elsewhere: those since its last checkpoint."""
    return np.asarray(run.records.arrival_s >= faults.lost_at_s - faults.replay_s)


def _hand_over(faults: ClusterFaults, run: WorkerRun) -> SampledRecords:
    """Return the records of a lost worker as its replacement takes them."""
    moved = run.records.take(_is_moved(faults, run))
    return moved._replace(ready_s=np.maximum(moved.arrival_s, faults.lost_at_s + faults.detect_s))


def _merge(first: SampledRecords, second: SampledRecords) -> SampledRecords:
    joined = SampledRecords(*(np.concatenate(columns) for columns in zip(first, second, strict=True)))
    return joined.take(np.argsort(joined.ready_s, kind="stable"))


def _join(first: WorkerRun, second: WorkerRun) -> WorkerRun:
    records = SampledRecords(*(np.concatenate(pair) for pair in zip(first.records, second.records, strict=True)))
    return WorkerRun(
        records,
        np.concatenate([first.waited_s, second.waited_s]),
        np.concatenate([first.steps, second.steps]),
    )
