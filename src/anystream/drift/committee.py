"""Committee: weighted members that classify together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.drift.ensemble_members import Member
from anystream.estimators.query_batch import classify_in_portions


@dataclass(frozen=True, eq=False)
class Committee:
    """Members and their weights, the newest first. It never changes: learning creates a new one.

    Parameters
    ----------
    members : tuple of Member
        The newest first.
    weights : array of shape (n_members,)
        Members with a weight of 0 or less do not vote. If there are no others, the newest decides alone.
    """

    members: tuple[Member, ...] = ()
    weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @property
    def active(self) -> list[tuple[Member, float]]:
        """Members that vote, with their weights."""
        voting = [(member, float(w)) for member, w in zip(self.members, self.weights, strict=True) if w > 0]
        return voting or [(member, 1.0) for member in self.members[:1]]

    def snapshot(self) -> Self:
        """Return the committee itself, because it never changes."""
        return self

    def classify(self, records: NDArray[np.float64], n_classes: int, budget: Budget) -> BatchResult:
        """Return probabilities, steps and certificates. Every member gets all the steps and its share of the time.

        A record is reached if every member has reached it.
        """
        return classify_in_portions(records, budget, lambda portion, share: self._vote(portion, n_classes, share))

    def _vote(self, records: NDArray[np.float64], n_classes: int, budget: Budget) -> BatchResult:
        steps, certified = np.zeros(len(records), dtype=np.int64), np.ones(len(records), dtype=np.bool_)
        reached = np.ones(len(records), dtype=np.bool_)
        active = self.active
        votes = []
        for i, (member, _) in enumerate(active):
            if not member.takes_steps:
                votes.append(member.proba(records, n_classes))
                continue
            vote = member.classify(records, n_classes, budget.share(1 / (len(active) - i)))
            np.maximum(steps, vote.steps, out=steps)
            certified &= vote.certified
            if vote.reached is not None:
                reached &= vote.reached
                vote.proba[~vote.reached] = 1.0 / n_classes
            votes.append(vote.proba)
        steps[~reached] = 0
        return BatchResult(self.average(votes, (len(records), n_classes)), steps, certified, reached)

    def staged_proba(
        self, records: NDArray[np.float64], n_classes: int, stages: NDArray[np.int64]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the probabilities after each of the ascending numbers of steps."""
        per_member = [member.staged_proba(records, n_classes, stages) for member, _ in self.active]
        for _ in stages:
            yield self.average([next(votes) for votes in per_member], (len(records), n_classes))

    def average(self, votes: Sequence[NDArray[np.float64]], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the weighted mean of the probabilities of the active members; uniform if there are none."""
        if not votes:
            return np.full(shape, 1.0 / shape[-1])
        total = np.zeros(shape)
        for vote, (_, weight) in zip(votes, self.active, strict=True):
            total += weight * vote
        return np.asarray(total / total.sum(axis=-1, keepdims=True))
