"""Who is answered next, and with how many steps."""

from anystream.runtime.schedulers.deadline_share import DeadlineShare
from anystream.runtime.schedulers.fixed_budget import FixedBudget
from anystream.runtime.schedulers.marginal_gain import MarginalGain
from anystream.runtime.schedulers.protocol import Again, Plan, Scheduler, Situation
from anystream.runtime.schedulers.waiting_time import WaitingTime

__all__ = ["Again", "DeadlineShare", "FixedBudget", "MarginalGain", "Plan", "Scheduler", "Situation", "WaitingTime"]
