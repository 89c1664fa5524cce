"""Members that are evaluated together."""

from __future__ import annotations

from collections.abc import Sequence

from anystream.drift.ensemble_members.base import Member
from anystream.drift.ensemble_members.tree import TreeMember

_MAX_TREES = 16


def group_by_cost(members: Sequence[Member]) -> list[Sequence[Member]]:
    """Return the members in order: decision trees in groups, since all take less than training one; others alone."""
    groups: list[list[Member]] = []
    for member in members:
        joins = isinstance(member, TreeMember) and groups and isinstance(groups[-1][0], TreeMember)
        if joins and len(groups[-1]) < _MAX_TREES:
            groups[-1].append(member)
        else:
            groups.append([member])
    return [*groups]
