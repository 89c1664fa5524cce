"""Weighted members that answer together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import Budget
from anystream.drift.members import AnytimeMember, Member


@dataclass(frozen=True, eq=False)
class Committee:
    """Members and their weights, the newest first. It never changes: learning makes a new one.

    Parameters
    ----------
    members : tuple of Member
        The newest first.
    weights : array of shape (n_members,)
        A member of weight 0 or less is silent. If all are, the newest decides alone.
    """

    members: tuple[Member, ...] = ()
    weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @property
    def speaking(self) -> list[tuple[Member, float]]:
        """The members that have a say, with their weights."""
        heard = [(member, float(w)) for member, w in zip(self.members, self.weights, strict=True) if w > 0]
        return heard or [(member, 1.0) for member in self.members[:1]]

    def answer(
        self, rows: NDArray[np.float64], n_classes: int, budget: Budget
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        """Probabilities, steps and certificates. Every member gets all the steps and its share of the time."""
        steps, certified = np.zeros(len(rows), dtype=np.int64), np.ones(len(rows), dtype=np.bool_)
        speaking = self.speaking
        votes = []
        for heard, (member, _) in enumerate(speaking):
            if isinstance(member, AnytimeMember):
                vote, taken, sure = member.answer(rows, n_classes, share_of(budget, len(speaking) - heard))
                np.maximum(steps, taken, out=steps)
                certified &= sure
            else:
                vote = member.proba(rows, n_classes)
            votes.append(vote)
        return self.average(votes, (len(rows), n_classes)), steps, certified

    def staged(
        self, rows: NDArray[np.float64], n_classes: int, stages: NDArray[np.int64]
    ) -> Iterator[NDArray[np.float64]]:
        """Probabilities after each of the numbers of steps."""
        per_member: list[Iterator[NDArray[np.float64]]] = []
        for member, _ in self.speaking:
            if isinstance(member, AnytimeMember):
                per_member.append(member.staged(rows, n_classes, stages))
            else:
                per_member.append(iter([member.proba(rows, n_classes)] * len(stages)))
        for _ in stages:
            yield self.average([next(votes) for votes in per_member], (len(rows), n_classes))

    def average(self, votes: list[NDArray[np.float64]], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The weighted mean of what the speaking members say; evenly spread if there are none."""
        if not votes:
            return np.full(shape, 1.0 / shape[-1])
        total = np.zeros(shape)
        for vote, (_, weight) in zip(votes, self.speaking, strict=True):
            total += weight * vote
        return np.asarray(total / total.sum(axis=-1, keepdims=True))


def share_of(budget: Budget, parts: int) -> Budget:
    """The budget of the next of `parts` members: all the steps, and its part of the time that is left."""
    if budget.until is None:
        return budget
    now = time.monotonic()
    return Budget(steps=budget.steps, until=now + max(0.0, budget.until - now) / parts, stop=budget.stop)
