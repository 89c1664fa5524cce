"""Members of ensembles: models whose classes are numbers and whose records may get further columns."""

from anystream.drift.ensemble_members.anytime import AnytimeMember
from anystream.drift.ensemble_members.base import Member
from anystream.drift.ensemble_members.estimator import EstimatorMember
from anystream.drift.ensemble_members.groups import group_by_cost
from anystream.drift.ensemble_members.moments import MomentsMember
from anystream.drift.ensemble_members.new_member import allows_nan, new_member
from anystream.drift.ensemble_members.tree import TreeMember

__all__ = [
    "AnytimeMember",
    "EstimatorMember",
    "Member",
    "MomentsMember",
    "TreeMember",
    "allows_nan",
    "group_by_cost",
    "new_member",
]
