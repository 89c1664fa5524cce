"""Experts of dynamic weighted majority: members that learn, predict and are removed together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anystream.drift.ensemble_members import Member


class Experts(ABC):
    """Members in the order of their creation. Only `learn` changes them; the other methods return new experts."""

    @property
    @abstractmethod
    def members(self) -> tuple[Member, ...]:
        """The members one by one."""

    @abstractmethod
    def prepare(self, n_records: int, n_classes: int, n_features: int) -> Experts:
        """Return experts that can learn a batch of so many records while these stay unchanged.

        `n_classes` and `n_features` are the numbers after the batch.
        """

    @abstractmethod
    def add(self, member: Member) -> Experts:
        """Return these experts followed by one that has not learned."""

    @abstractmethod
    def keep(self, kept: NDArray[np.bool_]) -> Experts:
        """Return the experts for which `kept` is true."""

    @abstractmethod
    def can_learn(self, number: int) -> NDArray[np.bool_]:
        """Return which experts can learn records of a class."""

    @abstractmethod
    def learn(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Let all experts learn records, in place."""

    @abstractmethod
    def predict(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.intp]:
        """Return the predicted class numbers; shape (n_experts, n_records)."""


class MemberExperts(Experts):
    """Experts of any kind, called one after another."""

    def __init__(self, members: Sequence[Member] = ()) -> None:
        self._members = tuple(members)

    @property
    def members(self) -> tuple[Member, ...]:
        """The members one by one."""
        return self._members

    def prepare(self, n_records: int, n_classes: int, n_features: int) -> Experts:
        """Return copies of the experts if one of them needs it."""
        if any(member.needs_copy(n_records, n_classes) for member in self._members):
            return MemberExperts([member.copy() for member in self._members])
        return self

    def add(self, member: Member) -> Experts:
        """Return these experts and another one."""
        return MemberExperts((*self._members, member))

    def keep(self, kept: NDArray[np.bool_]) -> Experts:
        """Return the experts for which `kept` is true."""
        return MemberExperts([member for member, stays in zip(self._members, kept.tolist(), strict=True) if stays])

    def can_learn(self, number: int) -> NDArray[np.bool_]:
        """Ask each expert."""
        return np.array([member.can_learn(number) for member in self._members])

    def learn(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Let one expert after another learn the records."""
        for member in self._members:
            member.learn(records, numbers, n_classes)

    def predict(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.intp]:
        """Return the predictions of one expert after another."""
        return np.array([member.predict(records, n_classes) for member in self._members])
