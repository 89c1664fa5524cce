from anystream.runtime.checkpoint import CheckpointError, CheckpointFolder
from anystream.runtime.clock import Clock, RealClock, SimulatedClock
from anystream.runtime.cluster_figures import ClusterFigures, Figures
from anystream.runtime.cluster_layout import ClusterFaults, ClusterLayout
from anystream.runtime.cluster_simulation import ClusterSimulation, Traffic, simulate_cluster
from anystream.runtime.contracts import (
    AnsweredRecords,
    BrokerSource,
    DeadLetters,
    LabelPollResult,
    LabelSource,
    LateLabel,
    PollResult,
    Sink,
    Source,
)
from anystream.runtime.delivery import BadRecordError
from anystream.runtime.engine import Engine, Turn
from anystream.runtime.gain_table import GainTable
from anystream.runtime.label_matcher import LabelMatcher
from anystream.runtime.learner import BackgroundLearner, FrozenModel, InlineLearner, Learner
from anystream.runtime.partition_progress import PartitionProgress
from anystream.runtime.queue import OVERFLOW_POLICIES, RecordQueue
from anystream.runtime.recorded_answers import RecordedAnswers
from anystream.runtime.records import Origin, Record, Records, RejectedRecord
from anystream.runtime.replay import Replay, as_recorded, at_rate, at_times
from anystream.runtime.run_state import RunState
from anystream.runtime.schedulers import (
    BatchPlan,
    DeadlineShare,
    FixedBudget,
    MarginalGain,
    Scheduler,
    SchedulerContext,
    SecondRound,
    SingleRound,
    WaitingTime,
)
from anystream.runtime.signals import stop_on_signals
from anystream.runtime.simulation import (
    MachineCost,
    NullSink,
    RepeatingSource,
    SimulatedModel,
    simulate,
)
from anystream.runtime.step_cost import StepCost
from anystream.runtime.summary import Summary
from anystream.runtime.worker_simulation import SampledRecords, WorkerSettings, simulate_worker
from anystream.runtime.workloads import draw_arrivals, spike_rates, step_rates, workload_a, workload_b

__all__ = [
    "OVERFLOW_POLICIES",
    "AnsweredRecords",
    "BackgroundLearner",
    "BadRecordError",
    "BatchPlan",
    "BrokerSource",
    "CheckpointError",
    "CheckpointFolder",
    "Clock",
    "ClusterFaults",
    "ClusterFigures",
    "ClusterLayout",
    "ClusterSimulation",
    "DeadLetters",
    "DeadlineShare",
    "Engine",
    "Figures",
    "FixedBudget",
    "FrozenModel",
    "GainTable",
    "InlineLearner",
    "LabelMatcher",
    "LabelPollResult",
    "LabelSource",
    "LateLabel",
    "Learner",
    "MachineCost",
    "MarginalGain",
    "NullSink",
    "Origin",
    "PartitionProgress",
    "PollResult",
    "RealClock",
    "Record",
    "RecordQueue",
    "RecordedAnswers",
    "Records",
    "RejectedRecord",
    "RepeatingSource",
    "Replay",
    "RunState",
    "SampledRecords",
    "Scheduler",
    "SchedulerContext",
    "SecondRound",
    "SimulatedClock",
    "SimulatedModel",
    "SingleRound",
    "Sink",
    "Source",
    "StepCost",
    "Summary",
    "Traffic",
    "Turn",
    "WaitingTime",
    "WorkerSettings",
    "as_recorded",
    "at_rate",
    "at_times",
    "draw_arrivals",
    "simulate",
    "simulate_cluster",
    "simulate_worker",
    "spike_rates",
    "step_rates",
    "stop_on_signals",
    "workload_a",
    "workload_b",
]
