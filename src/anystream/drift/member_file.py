"""Members of an ensemble as parts of its model file."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from anystream.anytime.kinds import classifier_of, known_kinds
from anystream.drift.file import holds
from anystream.drift.flat_tree import FlatTree
from anystream.drift.gaussian_naive_bayes import GaussianMoments
from anystream.drift.members import AnytimeMember, Member, MomentsMember, TreeMember
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays, require_metadata

_TREE = {
    "feature": ArraySpec("int32", ("nodes",), low=0),
    "threshold": ArraySpec("float64", ("nodes",), finite=True),
    "left": ArraySpec("int32", ("nodes",), low=-1, high="nodes-1"),
    "right": ArraySpec("int32", ("nodes",), low=-1, high="nodes-1"),
    "missing_left": ArraySpec("uint8", ("nodes",), high=1),
    "shares": ArraySpec("float64", ("nodes", "classes"), low=0.0, high=1.0),
}


def member_to_part(member: Member) -> ModelFile:
    """What `member_from_part` needs to make the member again."""
    if isinstance(member, TreeMember):
        arrays = {name: getattr(member.tree, name) for name in _TREE}
        return ModelFile(Path(), "tree", 1, {"width": member.width}, arrays)
    if isinstance(member, MomentsMember):
        return ModelFile(Path(), "moments", 1, {"smoothing": member.moments.smoothing}, dict(member.moments.arrays()))
    estimator = member.estimator
    if not (isinstance(member, AnytimeMember) and holds(estimator)):
        raise TypeError(
            f"a model file holds no code, and so no {type(estimator).__name__}, of which a member is made; pickle the "
            "ensemble instead, or make it of classifiers of anystream or scikit-learn's DecisionTreeClassifier"
        )
    return ModelFile(Path(), estimator.kind, estimator.file_version, *estimator._to_file())


def member_from_part(part: ModelFile, *, n_classes: int, n_features: int, mapped: bool) -> Member:
    """The member of a part, every value checked before it is used; its classes are numbers below `n_classes`."""
    if part.kind == "tree":
        member: Member = _tree(part, n_features)
        numbers = np.arange(member.tree.shares.shape[1])  # type: ignore[attr-defined]  # a TreeMember
    elif part.kind == "moments":
        moments = GaussianMoments.from_file(part, require_metadata(part, "smoothing", float, low=sys.float_info.min))
        member = MomentsMember(moments)
        numbers, member.width = np.arange(len(moments.count)), moments.mean.shape[1]
    elif part.kind in known_kinds():
        estimator = classifier_of(part.kind)._from_file(part, mapped=mapped)
        member = AnytimeMember(estimator)
        numbers, member.width = np.asarray(estimator.classes_), estimator.n_features_in_
    else:
        known = ", ".join(known_kinds())
        raise ModelFileError(f"{part.path}: a member is of kind {part.kind!r}, this anystream knows {known}; upgrade")
    fits = numbers.dtype.kind in "iu" and numbers.min(initial=0) >= 0 and numbers.max(initial=0) < n_classes
    if not fits or member.width > n_features:
        raise ModelFileError(f"{part.path}: a member knows classes or features that the model lacks; save it again")
    return member


def _tree(part: ModelFile, n_features: int) -> TreeMember:
    arrays, _ = check_arrays(part, _TREE)
    tree = FlatTree(**{name: array.copy() for name, array in arrays.items()})
    width = require_metadata(part, "width", int, low=1, high=n_features)
    if not tree.is_sound(width) or (np.abs(tree.shares.sum(axis=1) - 1.0) > 1e-6).any():
        raise ModelFileError(f"{part.path}: a tree leads nowhere or its shares do not add up; save the model again")
    return TreeMember.holding(tree, width)
