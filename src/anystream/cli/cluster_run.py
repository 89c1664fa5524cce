"""Simulation for ``anystream simulate --workers``: from options to the figures of every number of workers."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.cli.cluster_options import ClusterOptions
from anystream.cli.durations import parse_duration
from anystream.cli.progress_bar import show_progress
from anystream.cli.queue_options import check_queue_options
from anystream.cli.simulate_options import SimulateOptions
from anystream.cli.simulate_run import make_scheduler, parse_burst, read_records
from anystream.connectors.saved_model import open_model
from anystream.runtime.cluster_figures import ClusterFigures, Figures
from anystream.runtime.cluster_layout import ClusterFaults, ClusterLayout
from anystream.runtime.cluster_simulation import (
    ClusterSimulation,
    Traffic,
    WorkerOutcome,
    WorkerTask,
    plan_tasks,
    run_task,
    summarise,
)
from anystream.runtime.recorded_answers import RecordedAnswers
from anystream.runtime.simulation import MachineCost
from anystream.runtime.worker_simulation import WorkerSettings
from anystream.runtime.workloads import spike_rates, step_rates

MAX_RATE_PER_S = 1e9
"""Maximum rate that can be simulated, bursts included, in records per second."""
_MAX_WORKERS = 100_000
_DEFAULT_LOSS = 0.3  # of the time
_MAX_ROWS = 10_000  # of the table whose answers are recorded


@dataclass(frozen=True, slots=True)
class ClusterCheck:
    """Checked options that are needed beside the simulation.

    Parameters
    ----------
    worker_counts : list of int
        Numbers of workers, ascending.
    min_on_time : float
        Share of answers in time that is enough.
    """

    worker_counts: list[int]
    min_on_time: float


class ClusterResult(NamedTuple):
    """The simulation, the model's budget, the figures of every number of workers, and the share that is enough."""

    simulation: ClusterSimulation
    budget: int
    figures: list[ClusterFigures]
    min_on_time: float

    @property
    def min_workers(self) -> int:
        """Number of workers below which the mean rate cannot be answered at all: rate · r, rounded up."""
        return math.ceil(self.simulation.traffic.mean_rate_per_s * self.simulation.cost.record_s)

    def enough(self) -> int | None:
        """Return the smallest simulated number of workers that answers enough records in time; None if none does."""
        return self._first(lambda found: found.undisturbed)

    def enough_after_loss(self) -> int | None:
        """Return the smallest simulated number of workers that does so also after it has recovered from the loss."""
        return self._first(lambda found: found.after_recovery)

    def _first(self, choose: Callable[[ClusterFigures], Figures | None]) -> int | None:
        for found in self.figures:
            figures = choose(found)
            if figures is not None and figures.on_time >= self.min_on_time:
                return found.n_workers
        return None


def run_clusters(options: SimulateOptions) -> ClusterResult:
    """Check the options, measure the cost of work here, and simulate every number of workers."""
    check = check_cluster_options(options)
    overflow = check_queue_options(options.queue_capacity, options.overflow)
    traffic = _draw_traffic(options)
    faults = _read_faults(options, traffic)
    settings = WorkerSettings(
        within_s=parse_duration(options.within), capacity=options.queue_capacity, overflow=overflow
    )
    layouts = [ClusterLayout.draw(n, faults, seed=options.seed) for n in check.worker_counts]
    target_wait_s = None if options.target_wait is None else parse_duration(options.target_wait)
    saved = open_model(options.model)
    classifier = saved.classifier
    features, labels = _sample_rows(*read_records(options, saved.schema, classifier.n_features_in_), options.seed)
    simulation = ClusterSimulation(
        answers=RecordedAnswers.record(classifier, features, labels, max_steps=classifier.budget),
        traffic=traffic,
        cost=MachineCost.measure(classifier, features).scale(options.worker_speed),
        make_scheduler=partial(make_scheduler, classifier.budget, target_wait_s),
        settings=settings,
        faults=faults,
        seed=options.seed,
    )
    return ClusterResult(simulation, classifier.budget, simulate_clusters(simulation, layouts), check.min_on_time)


def simulate_clusters(simulation: ClusterSimulation, layouts: list[ClusterLayout]) -> list[ClusterFigures]:
    """Simulate every layout, as many workers at once as there are cores."""
    jobs = [(number, task) for number, layout in enumerate(layouts) for task in plan_tasks(simulation, layout)]
    outcomes: list[list[WorkerOutcome]] = [[] for _ in layouts]
    progress = _Progress(len(jobs))
    n_processes = min(len(jobs), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    with show_progress(progress, "simulating"):
        if n_processes == 1:
            for number, task in jobs:
                outcomes[number].append(run_task(simulation, layouts[number], task))
                progress.n_done += 1
        else:
            shared = (simulation, layouts)  # forked processes have it already, nothing is copied
            with ProcessPoolExecutor(n_processes, get_context("fork"), _set_up_process, shared) as processes:
                pending = [(number, processes.submit(_run_shared, number, task)) for number, task in jobs]
                for number, run in pending:
                    outcomes[number].append(run.result())
                    progress.n_done += 1
    return [summarise(simulation, layout, found) for layout, found in zip(layouts, outcomes, strict=True)]


class _Progress:
    """Share of the workers that are simulated."""

    def __init__(self, n_jobs: int) -> None:
        self._n_jobs = n_jobs
        self.n_done = 0

    @property
    def share_read(self) -> float:
        """Share that is done."""
        return self.n_done / self._n_jobs


_shared: tuple[ClusterSimulation, list[ClusterLayout]]  # of a process that simulates


def _set_up_process(*shared: Any) -> None:
    global _shared
    _shared = shared
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent reports Ctrl-C


def _run_shared(number: int, task: WorkerTask) -> WorkerOutcome:
    simulation, layouts = _shared
    return run_task(simulation, layouts[number], task)


def check_cluster_options(options: SimulateOptions) -> ClusterCheck:
    """Check the numbers of workers and the share that is enough."""
    if not options.worker_speed > 0.0:
        raise ValueError(f"--worker-speed is {options.worker_speed:g}; use a factor above 0")
    if not 0.0 < options.min_on_time <= 1.0:
        raise ValueError(f"--min-on-time is {options.min_on_time:g}; use a share above 0 and up to 1")
    if options.machines != SimulateOptions.machines:
        raise ValueError("--machines is for single machines; with --workers use --worker-speed")
    assert options.workers is not None
    return ClusterCheck(parse_worker_counts(options.workers), options.min_on_time)


def parse_worker_counts(text: str) -> list[int]:
    """Return numbers of workers, ascending.

    Examples
    --------
    >>> parse_worker_counts("4,6,8"), parse_worker_counts("12")
    ([4, 6, 8], [1, 2, 4, 8, 12])
    """
    try:
        counts = {int(part) for part in text.split(",")}
    except ValueError:
        counts = set()
    if not counts or not 1 <= min(counts) <= max(counts) <= _MAX_WORKERS:
        raise ValueError(f"--workers is {text!r}; write numbers of 1 to {_MAX_WORKERS:,}, such as 16 or 4,6,8")
    if len(counts) == 1:
        counts |= {2**power for power in range(max(counts).bit_length())}
    return sorted(counts)


def _sample_rows(
    features: NDArray[np.float64], labels: list[Any] | None, seed: int
) -> tuple[NDArray[np.float64], list[Any] | None]:
    """Return at most `_MAX_ROWS` rows of the table."""
    if len(features) <= _MAX_ROWS:
        return features, labels
    rows = np.random.default_rng(seed).choice(len(features), _MAX_ROWS, replace=False)
    return features[rows], None if labels is None else [labels[row] for row in rows]


def _read_faults(options: ClusterOptions, traffic: Traffic) -> ClusterFaults:
    lost_at_s = _DEFAULT_LOSS * traffic.duration_s if options.lost_at is None else parse_duration(options.lost_at)
    if options.lost and not lost_at_s < traffic.duration_s:
        raise ValueError(f"--lost-at is {options.lost_at}, after the end; use a time before {traffic.duration_s:g} s")
    return ClusterFaults(
        n_partitions=options.partitions,
        skew=options.skew,
        n_stragglers=options.stragglers,
        straggler_speed=options.straggler_speed,
        n_lost=options.lost,
        lost_at_s=lost_at_s,
        detect_s=parse_duration(options.detect),
        replay_s=parse_duration(options.replayed),
    )


def _draw_traffic(options: SimulateOptions) -> Traffic:
    """Return the rate of the whole stream over time."""
    duration_s, burst_s = parse_duration(options.duration), parse_duration(options.burst_time)
    peak_rate = parse_burst(options.burst, options.rate)
    if not options.rate > 0.0 or not peak_rate > 0.0:
        raise ValueError(f"--rate is {options.rate:g} and --burst {options.burst}; use rates above 0")
    if max(options.rate, peak_rate) > MAX_RATE_PER_S:
        raise ValueError(
            f"the traffic has up to {max(options.rate, peak_rate):,.0f} records per second, the maximum is "
            f"{MAX_RATE_PER_S:,.0f}; use a lower --rate or --burst"
        )
    if options.workload == "spikes":
        period_s = parse_duration(options.every)
        rates = spike_rates(duration_s, base_rate=options.rate, peak_rate=peak_rate, spike_s=burst_s, period_s=period_s)
        return Traffic(*rates)
    if options.workload == "steps":
        heights = step_rates(duration_s, min_rate=0.0, max_rate=peak_rate, step_s=burst_s, seed=options.seed)
        return Traffic(heights, burst_s)
    raise ValueError(f"--workload is {options.workload!r}; use spikes or steps")
