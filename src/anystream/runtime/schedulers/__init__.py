"""Schedulers: which records are classified next, and with how many steps."""

from anystream.runtime.schedulers.contract import BatchPlan, Scheduler, SchedulerContext, SecondRound, SingleRound
from anystream.runtime.schedulers.deadline_share import DeadlineShare
from anystream.runtime.schedulers.fixed_budget import FixedBudget
from anystream.runtime.schedulers.marginal_gain import MarginalGain
from anystream.runtime.schedulers.waiting_time import WaitingTime

__all__ = [
    "BatchPlan",
    "DeadlineShare",
    "FixedBudget",
    "MarginalGain",
    "Scheduler",
    "SchedulerContext",
    "SecondRound",
    "SingleRound",
    "WaitingTime",
]
