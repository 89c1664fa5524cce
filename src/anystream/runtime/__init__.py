"""The stream runtime: every record is answered by its deadline, and nothing is lost in silence.

A `Source` gives items, a bounded `ItemQueue` holds them, a scheduler gives each batch its budget, a classifier
answers it, a `Sink` takes the answers, and the source hears how far everything is safe. Models and connectors are
known by what they do, never by name.
"""

from anystream.connectors.items import Item, Items, Reject
from anystream.connectors.protocols import Answers, DeadLetters, LabelSource, Polled, Sink, Source
from anystream.runtime.checkpoint import CheckpointError, CheckpointFolder, RunState
from anystream.runtime.clock import Clock, RealClock, SimulatedClock
from anystream.runtime.engine import Engine, Turn
from anystream.runtime.gain_table import GainTable
from anystream.runtime.label_desk import LabelDesk
from anystream.runtime.learner import Learner, LearnsBeside, LearnsBetween, LearnsNothing
from anystream.runtime.outlet import BadRecord
from anystream.runtime.queue import OVERFLOW_POLICIES, ItemQueue
from anystream.runtime.replay import Replay, as_recorded, at_rate, at_times
from anystream.runtime.schedulers import (
    Again,
    DeadlineShare,
    FixedBudget,
    MarginalGain,
    Plan,
    Scheduler,
    Situation,
    WaitingTime,
)
from anystream.runtime.signals import stop_on_signals
from anystream.runtime.simulation import MachineCost, simulate
from anystream.runtime.step_cost import StepCost
from anystream.runtime.summary import Summary
from anystream.runtime.workloads import arrivals, workload_a, workload_b

__all__ = [
    "OVERFLOW_POLICIES",
    "Again",
    "Answers",
    "BadRecord",
    "CheckpointError",
    "CheckpointFolder",
    "Clock",
    "DeadLetters",
    "DeadlineShare",
    "Engine",
    "FixedBudget",
    "GainTable",
    "Item",
    "ItemQueue",
    "Items",
    "LabelDesk",
    "LabelSource",
    "Learner",
    "LearnsBeside",
    "LearnsBetween",
    "LearnsNothing",
    "MachineCost",
    "MarginalGain",
    "Plan",
    "Polled",
    "RealClock",
    "Reject",
    "Replay",
    "RunState",
    "Scheduler",
    "SimulatedClock",
    "Sink",
    "Situation",
    "Source",
    "StepCost",
    "Summary",
    "Turn",
    "WaitingTime",
    "arrivals",
    "as_recorded",
    "at_rate",
    "at_times",
    "simulate",
    "stop_on_signals",
    "workload_a",
    "workload_b",
]
