"""Stream runtime: classifies every record by its deadline and accounts for each of them.

A `Source` gives records, a bounded `RecordQueue` holds them, a scheduler gives each batch its budget, a classifier
classifies it, a `Sink` takes the answers, and everything that is safe is acknowledged to the source. Models and
connectors are used through protocols only; this package imports neither.

The names below are imported on first use, so that a command imports no simulation unless it runs one;
``__init__.pyi`` lists them for type checkers.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_NAMES = {
    "checkpoint": ("CheckpointError", "CheckpointFolder"),
    "clock": ("Clock", "RealClock", "SimulatedClock"),
    "cluster_figures": ("ClusterFigures", "Figures"),
    "cluster_layout": ("ClusterFaults", "ClusterLayout"),
    "cluster_simulation": ("ClusterSimulation", "Traffic", "simulate_cluster"),
    "contracts": (
        "AnsweredRecords",
        "BrokerSource",
        "DeadLetters",
        "LabelPollResult",
        "LabelSource",
        "LateLabel",
        "PollResult",
        "Sink",
        "Source",
    ),
    "delivery": ("BadRecordError",),
    "engine": ("Engine", "Turn"),
    "gain_table": ("GainTable",),
    "label_matcher": ("LabelMatcher",),
    "learner": ("BackgroundLearner", "FrozenModel", "InlineLearner", "Learner"),
    "partition_progress": ("PartitionProgress",),
    "queue": ("OVERFLOW_POLICIES", "RecordQueue"),
    "recorded_answers": ("RecordedAnswers",),
    "records": ("Origin", "Record", "Records", "RejectedRecord"),
    "replay": ("Replay", "as_recorded", "at_rate", "at_times"),
    "run_state": ("RunState",),
    "schedulers": (
        "BatchPlan",
        "DeadlineShare",
        "FixedBudget",
        "MarginalGain",
        "Scheduler",
        "SchedulerContext",
        "SecondRound",
        "SingleRound",
        "WaitingTime",
    ),
    "signals": ("stop_on_signals",),
    "simulation": ("MachineCost", "NullSink", "RepeatingSource", "SimulatedModel", "simulate"),
    "step_cost": ("StepCost",),
    "summary": ("Summary",),
    "worker_simulation": ("SampledRecords", "WorkerSettings", "simulate_worker"),
    "workloads": ("draw_arrivals", "spike_rates", "step_rates", "workload_a", "workload_b"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'anystream.runtime' has no attribute {name!r}")
    value = getattr(import_module(f"anystream.runtime.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
