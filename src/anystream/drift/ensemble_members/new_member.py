"""Creation of members from an estimator."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from anystream.anytime.classifier import AnytimeClassifier
from anystream.drift.ensemble_members.anytime import AnytimeMember
from anystream.drift.ensemble_members.base import Member
from anystream.drift.ensemble_members.estimator import EstimatorMember
from anystream.drift.ensemble_members.moments import MomentsMember
from anystream.drift.ensemble_members.tree import TreeMember
from anystream.drift.gaussian_moments import GaussianMoments
from anystream.drift.gaussian_naive_bayes import GaussianNaiveBayes
from anystream.drift.tree_training import copy_unfitted_tree
from anystream.estimators.parameters import check_positive


def new_member(estimator: Any, seed: int) -> Member:
    """Return an unfitted member from a clone of `estimator`; parameters for seeds that are None get `seed`."""
    seed %= 2**32  # the range that scikit-learn accepts
    if type(estimator) is DecisionTreeClassifier:
        return TreeMember(copy_unfitted_tree(estimator, seed))
    own = clone(estimator)
    unseeded = {
        name: seed
        for name, value in own.get_params().items()
        if value is None and name.rpartition("__")[2] in ("random_state", "seed")
    }
    own.set_params(**unseeded)
    if type(own) is GaussianNaiveBayes:
        return MomentsMember(GaussianMoments(0, check_positive("smoothing", own.smoothing)))
    if isinstance(own, AnytimeClassifier):
        return AnytimeMember(own)
    return EstimatorMember(own)


def allows_nan(estimator: Any) -> bool:
    """Whether an estimator accepts missing values; one without scikit-learn's tags does not."""
    tags = getattr(estimator, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.allow_nan)
