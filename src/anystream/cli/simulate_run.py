"""Simulation for ``anystream simulate``: from options to the account of a run on every machine."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.sharedctypes import RawArray
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.cli.durations import parse_duration
from anystream.cli.progress_bar import show_progress
from anystream.cli.queue_options import check_queue_options
from anystream.cli.simulate_options import SimulateOptions
from anystream.cli.unknown_categories import check_unknown, describe_unknown
from anystream.connectors.encode_table import encode_table
from anystream.connectors.file_formats import Table
from anystream.connectors.saved_model import open_model
from anystream.connectors.schema import Schema
from anystream.runtime.engine import Turn
from anystream.runtime.queue import OverflowPolicy
from anystream.runtime.schedulers import DeadlineShare, Scheduler, WaitingTime
from anystream.runtime.simulation import MachineCost, simulate
from anystream.runtime.summary import Summary
from anystream.runtime.workloads import workload_a, workload_b

_MAX_RECORDS = 40_000_000  # maximum number of records in one simulation
_RANDOM_RECORDS = 2000  # records of noise that are simulated with if there is no table


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """What a simulation needs, all of it checked.

    Parameters
    ----------
    options : SimulateOptions
        The options, whose values are valid.
    within_s : float
        Seconds from the arrival of a record to its deadline.
    target_wait_s : float or None
        Target waiting time of the queue rule; None: steps are chosen by the deadlines.
    overflow : OverflowPolicy
        Policy for a full queue.
    speeds : list of float
        Speeds of the machines, relative to this one, ascending.
    arrival_times_s : array
        Arrival of each record, in seconds from the start.
    classifier : anytime classifier
        The model.
    features, labels : array and list or None
        Typical records, and their labels if they are known.
    """

    options: SimulateOptions
    within_s: float
    target_wait_s: float | None
    overflow: OverflowPolicy
    speeds: list[float]
    arrival_times_s: NDArray[np.float64]
    classifier: Any
    features: NDArray[np.float64]
    labels: list[Any] | None


class MachineRun(NamedTuple):
    """Account of the run on one machine, and the length of its queue at the end of every turn."""

    speed: float
    summary: Summary
    times_s: list[float]
    queue_lengths: list[int]


class SimulationResult(NamedTuple):
    """Number of records, cost of work on this machine, the model's budget, and the run on each machine."""

    n_records: int
    cost: MachineCost
    budget: int
    runs: list[MachineRun]


def prepare_simulation(options: SimulateOptions) -> Simulation:
    """Check the options, draw the arrival times, and read the model and the typical records."""
    overflow = check_queue_options(options.queue_capacity, options.overflow)
    within_s, speeds = parse_duration(options.within), _parse_speeds(options.machines)
    target_wait_s = None if options.target_wait is None else parse_duration(options.target_wait)
    arrival_times_s = _draw_arrivals(options)
    saved = open_model(options.model)
    features, labels = read_records(options, saved.schema, saved.classifier.n_features_in_)
    return Simulation(
        options=options,
        within_s=within_s,
        target_wait_s=target_wait_s,
        overflow=overflow,
        speeds=speeds,
        arrival_times_s=arrival_times_s,
        classifier=saved.classifier,
        features=features,
        labels=labels,
    )


class _Progress:
    """Share of a simulation that is done, counted in memory that processes share."""

    def __init__(self, n_records: int, n_machines: int) -> None:
        self._n_records = max(n_records * n_machines, 1)
        self.taken = RawArray("q", n_machines)  # records, by machine

    @property
    def share_read(self) -> float:
        """Share that is done."""
        return float(sum(self.taken)) / self._n_records


def run_simulation(simulation: Simulation) -> SimulationResult:
    """Measure the cost of work here, and simulate every machine, as many at once as there are cores."""
    cost = MachineCost.measure(simulation.classifier, simulation.features)
    n_records, n_machines = len(simulation.arrival_times_s), len(simulation.speeds)
    progress = _Progress(n_records, n_machines)
    n_processes = min(n_machines, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    if n_processes == 1:
        with show_progress(progress, "simulating"):
            runs = [_run_machine(simulation, cost, progress, machine) for machine in range(n_machines)]
    else:
        shared = (simulation, cost, progress)  # forked processes have it already, nothing is copied
        with ProcessPoolExecutor(n_processes, get_context("fork"), _set_up_process, shared) as processes:
            pending = [processes.submit(_run_shared, machine) for machine in range(n_machines)]
            with show_progress(progress, "simulating"):
                runs = [run.result() for run in pending]
    return SimulationResult(n_records, cost, simulation.classifier.budget, runs)


_shared: tuple[Simulation, MachineCost, _Progress]  # of a process that simulates


def _set_up_process(*shared: Any) -> None:
    global _shared
    _shared = shared
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent reports Ctrl-C


def _run_shared(machine: int) -> MachineRun:
    return _run_machine(*_shared, machine)


def _run_machine(simulation: Simulation, cost: MachineCost, progress: _Progress, machine: int) -> MachineRun:
    times_s: list[float] = []
    queue_lengths: list[int] = []
    speed = simulation.speeds[machine]

    def observe(turn: Turn) -> None:
        times_s.append(turn.now)
        queue_lengths.append(turn.queue_length)
        progress.taken[machine] = turn.summary.taken

    summary = simulate(
        simulation.classifier,
        simulation.arrival_times_s,
        simulation.features,
        simulation.labels,
        scheduler=make_scheduler(simulation.classifier.budget, simulation.target_wait_s),
        cost=cost.scale(speed),
        within_s=simulation.within_s,
        capacity=simulation.options.queue_capacity,
        overflow=simulation.overflow,
        observer=observe,
    )
    return MachineRun(speed, summary, times_s, queue_lengths)


def make_scheduler(max_steps: int, target_wait_s: float | None) -> Scheduler:
    """Return the scheduler of a simulated engine: by a target waiting time, or by the deadlines without one."""
    if target_wait_s is None:
        return DeadlineShare(max_steps=max_steps)
    return WaitingTime(target_wait_s, max_steps=max_steps)


def read_records(
    options: SimulateOptions, schema: Schema, n_features: int
) -> tuple[NDArray[np.float64], list[Any] | None]:
    """Return typical records and, if they are known, their labels; noise without a table."""
    if options.data is None:
        return np.random.default_rng(options.seed).normal(size=(_RANDOM_RECORDS, n_features)), None
    schema = replace(schema, label=options.label_column or schema.label, unknown=check_unknown(options.unknown))
    labelled = options.label_column is not None
    table = Table(options.data)
    with show_progress(table):
        features, labels, n_unknown, first_unknown = encode_table(schema, table, labelled=labelled)
    if n_unknown:
        print(describe_unknown(n_unknown, first_unknown), file=sys.stderr)
    return features, labels


def _draw_arrivals(options: SimulateOptions) -> NDArray[np.float64]:
    """Return the arrival times of the traffic."""
    duration_s, burst_s = parse_duration(options.duration), parse_duration(options.burst_time)
    period_s = parse_duration(options.every)
    peak_rate = parse_burst(options.burst, options.rate)
    if not options.rate > 0.0 or not peak_rate > 0.0:
        raise ValueError(f"--rate is {options.rate:g} and --burst {options.burst}; use rates above 0")
    if max(options.rate, peak_rate) * duration_s > _MAX_RECORDS:
        raise ValueError(
            f"the traffic has up to {max(options.rate, peak_rate) * duration_s:,.0f} records, the maximum is "
            f"{_MAX_RECORDS:,}; use a lower --rate or a shorter --duration"
        )
    if options.workload == "spikes":
        return workload_a(
            duration_s,
            base_rate=options.rate,
            peak_rate=peak_rate,
            spike_s=burst_s,
            period_s=period_s,
            seed=options.seed,
        )
    if options.workload == "steps":
        return workload_b(duration_s, min_rate=0.0, max_rate=peak_rate, step_s=burst_s, seed=options.seed)
    raise ValueError(f"--workload is {options.workload!r}; use spikes or steps")


def parse_burst(text: str, rate: float) -> float:
    """Return the rate during bursts."""
    try:
        return float(text[:-1]) * rate if text.endswith("x") else float(text)
    except ValueError:
        raise ValueError(f"--burst is {text!r}; write a multiple such as 10x, or records per second") from None


def _parse_speeds(text: str) -> list[float]:
    try:
        speeds = [float(part) for part in text.split(",")]
    except ValueError:
        speeds = []
    if not speeds or min(speeds) <= 0.0:
        raise ValueError(f"--machines is {text!r}; write positive factors, such as 0.5,1,2")
    return sorted(speeds)
