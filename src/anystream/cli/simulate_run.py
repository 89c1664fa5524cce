"""Simulation for ``anystream simulate``: from options to the account of a run on every machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.cli.durations import parse_duration
from anystream.cli.encode_table import encode_labelled_table, encode_table
from anystream.cli.file_formats import read_columns
from anystream.cli.queue_options import check_queue_options
from anystream.cli.saved_model import open_model
from anystream.cli.simulate_options import SimulateOptions
from anystream.connectors.schema import Schema
from anystream.runtime.engine import Turn
from anystream.runtime.queue import OverflowPolicy
from anystream.runtime.schedulers import DeadlineShare
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
    arrival_times_s = _draw_arrivals(options)
    saved = open_model(options.model)
    features, labels = _read_records(options, saved.schema, saved.classifier.n_features_in_)
    return Simulation(
        options=options,
        within_s=within_s,
        overflow=overflow,
        speeds=speeds,
        arrival_times_s=arrival_times_s,
        classifier=saved.classifier,
        features=features,
        labels=labels,
    )


def run_simulation(simulation: Simulation) -> SimulationResult:
    """Measure the cost of work here, and simulate every machine."""
    cost = MachineCost.measure(simulation.classifier, simulation.features)
    runs = [_run_machine(simulation, speed, cost.scale(speed)) for speed in simulation.speeds]
    return SimulationResult(len(simulation.arrival_times_s), cost, simulation.classifier.budget, runs)


def _run_machine(simulation: Simulation, speed: float, cost: MachineCost) -> MachineRun:
    times_s: list[float] = []
    queue_lengths: list[int] = []

    def observe(turn: Turn) -> None:
        times_s.append(turn.now)
        queue_lengths.append(turn.queue_length)

    summary = simulate(
        simulation.classifier,
        simulation.arrival_times_s,
        simulation.features,
        simulation.labels,
        scheduler=DeadlineShare(max_steps=simulation.classifier.budget),
        cost=cost,
        within_s=simulation.within_s,
        capacity=simulation.options.queue_capacity,
        overflow=simulation.overflow,
        observer=observe,
    )
    return MachineRun(speed, summary, times_s, queue_lengths)


def _read_records(
    options: SimulateOptions, schema: Schema, n_features: int
) -> tuple[NDArray[np.float64], list[Any] | None]:
    if options.data is None:
        return np.random.default_rng(options.seed).normal(size=(_RANDOM_RECORDS, n_features)), None
    columns = read_columns(options.data)
    schema = replace(schema, label=options.label_column or schema.label)
    if schema.label in columns:
        return encode_labelled_table(schema, columns, options.data)
    return encode_table(schema, columns, options.data), None


def _draw_arrivals(options: SimulateOptions) -> NDArray[np.float64]:
    """Return the arrival times of the traffic."""
    duration_s, burst_s = parse_duration(options.duration), parse_duration(options.burst_time)
    period_s = parse_duration(options.every)
    peak_rate = _parse_burst(options.burst, options.rate)
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


def _parse_burst(text: str, rate: float) -> float:
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
