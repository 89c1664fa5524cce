"""Experts that are naive Bayes, in arrays of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.drift.ensemble_members import Member, MomentsMember
from anystream.drift.ensemble_members.base import first_columns
from anystream.drift.experts import Experts, MemberExperts
from anystream.drift.gaussian_moments import GaussianMoments


class MomentsExperts(Experts):
    """Naive Bayes experts that learn a record, or predict its class, in one native call.

    All experts learn the same records, so they know the same classes and features.

    Parameters
    ----------
    smoothing : array of shape (n_experts,)
        Weight, in records, of the overall variance in the variance of every class.
    count : array of shape (n_experts, n_classes)
        Records of each class.
    observed, mean, scatter : arrays of shape (n_experts, n_classes, n_features)
        Moments of the features, as in `GaussianMoments`.
    """

    def __init__(
        self,
        smoothing: NDArray[np.float64],
        count: NDArray[np.float64],
        observed: NDArray[np.float64],
        mean: NDArray[np.float64],
        scatter: NDArray[np.float64],
    ) -> None:
        self._smoothing = smoothing
        self._moments: tuple[NDArray[np.float64], ...] = (count, observed, mean, scatter)

    @classmethod
    def from_members(cls, members: Sequence[MomentsMember]) -> Self:
        """Return experts with copies of the moments, as many classes and features as the largest member has."""
        shapes = [member.moments.shape for member in members]
        n_classes, n_features = (max(sizes) for sizes in zip(*shapes, strict=True))
        equal = [member.moments.with_shape(n_classes, n_features) for member in members]
        return cls(
            np.array([moments.smoothing for moments in equal]),
            np.stack([moments.count for moments in equal]),
            np.stack([moments.observed for moments in equal]),
            np.stack([moments.mean for moments in equal]),
            np.stack([moments.scatter for moments in equal]),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return MomentsExperts, (self._smoothing, *self._moments)

    def snapshot(self) -> Self:
        """Return the experts themselves: those of a model never change, copies of them learn."""
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes and of features."""
        _, n_classes, n_features = self._moments[1].shape
        return n_classes, n_features

    @cached_property
    def _views(self) -> tuple[Member, ...]:
        views = []
        for smoothing, *arrays in zip(self._smoothing.tolist(), *self._moments, strict=True):
            moments = GaussianMoments(0, smoothing)
            moments.count, moments.observed, moments.mean, moments.scatter = arrays
            member = MomentsMember(moments)
            member.n_features = moments.shape[1]
            views.append(member)
        return tuple(views)

    @property
    def members(self) -> tuple[Member, ...]:
        """The members one by one, whose moments are views of the arrays of all."""
        return self._views

    def prepare(self, n_records: int, n_classes: int, n_features: int) -> Experts:
        """Return copies that have all classes and features."""
        if (n_classes, n_features) == self.shape:
            return MomentsExperts(self._smoothing, *(array.copy() for array in self._moments))
        return MomentsExperts(self._smoothing, *self._padded(n_classes, n_features))

    def _padded(self, n_classes: int, n_features: int) -> tuple[NDArray[np.float64], ...]:
        """Return the moments with classes and features added."""
        known_classes, known_features = self.shape
        added = ((0, 0), (0, n_classes - known_classes), (0, n_features - known_features))
        return tuple(np.pad(array, added[: array.ndim]) for array in self._moments)

    def add(self, member: Member) -> Experts:
        """Return these experts and another one; experts of any kind if it is not naive Bayes."""
        if not isinstance(member, MomentsMember):
            return MemberExperts((*(each.copy() for each in self.members), member))
        empty = (np.concatenate([array, np.zeros((1, *array.shape[1:]))]) for array in self._moments)
        return MomentsExperts(np.append(self._smoothing, member.moments.smoothing), *empty)

    def keep(self, kept: NDArray[np.bool_]) -> Experts:
        """Return the experts for which `kept` is true."""
        if kept.all():
            return self
        return MomentsExperts(self._smoothing[kept], *(array[kept] for array in self._moments))

    def can_learn(self, number: int) -> NDArray[np.bool_]:
        """Return that all can."""
        return np.ones(len(self._smoothing), dtype=np.bool_)

    def learn(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Add records to the moments of all experts.

        The native call checks all sizes and class numbers before it changes anything, and cannot fail after that.
        """
        if (n_classes, records.shape[1]) != self.shape:  # the first records of all
            self._moments = self._padded(n_classes, records.shape[1])
        _native.learn_moments_of_all(records, numbers, *self._moments)

    def predict(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.intp]:
        """Return the predicted class numbers of all experts."""
        predicted = np.empty((len(self._smoothing), len(records)), dtype=np.int64)
        known = first_columns(records, self.shape[1])
        count, observed, mean, scatter = self._moments
        _native.predict_moments_of_all(known, self._smoothing, count, observed, mean, scatter, predicted)
        return predicted


def group_experts(members: Sequence[Member]) -> Experts:
    """Return members as experts."""
    naive_bayes = [member for member in members if isinstance(member, MomentsMember)]
    if members and len(naive_bayes) == len(members):
        return MomentsExperts.from_members(naive_bayes)
    return MemberExperts(members)
