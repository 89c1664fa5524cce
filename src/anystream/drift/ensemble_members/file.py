"""Members of an ensemble in its model file, each like a file of its own.

The metadata ``members`` lists kind, version and metadata of each member; its arrays are named ``<i>.<name>``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.drift.ensemble_members import AnytimeMember, EstimatorMember, Member, MomentsMember, TreeMember
from anystream.drift.flat_tree import FlatTree
from anystream.drift.gaussian_moments import GaussianMoments
from anystream.estimators.saving import ModelState, find_class, is_saveable
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays, require_metadata

_HEAD = ("kind", "version", "metadata")
_TREE_ARRAYS = {
    "feature": ArraySpec("int32", ("nodes",), low=0),
    "threshold": ArraySpec("float64", ("nodes",)),  # infinite where only missing values go the other way
    "left": ArraySpec("int32", ("nodes",), low=-1, high="nodes-1"),
    "right": ArraySpec("int32", ("nodes",), low=-1, high="nodes-1"),
    "missing_left": ArraySpec("uint8", ("nodes",), high=1),
    "shares": ArraySpec("float64", ("nodes", "classes"), low=0.0, high=1.0),
}


def dump_members(members: Sequence[Member]) -> ModelState:
    """Return metadata and arrays from which `restore_members` restores the members."""
    parts = [_member_to_part(member) for member in members]
    heads = [{name: getattr(part, name) for name in _HEAD} for part in parts]
    arrays = {f"{i}.{name}": array for i, part in enumerate(parts) for name, array in part.arrays.items()}
    return ModelState({"members": heads}, arrays)


def restore_members(
    file: ModelFile, *, n_classes: int, n_features: int, mapped: bool
) -> tuple[tuple[Member, ...], ModelFile]:
    """Return the members of a file, every value checked before it is used, and the file without their arrays."""
    own, parts = _split_file(file)
    members = (_member_from_part(part, n_classes=n_classes, n_features=n_features, mapped=mapped) for part in parts)
    return tuple(members), own


def _split_file(file: ModelFile) -> tuple[ModelFile, list[ModelFile]]:
    """Return the file with the arrays of the ensemble itself, and a file for each member."""
    heads = require_metadata(file, "members", list)
    own, member_arrays = {}, [dict[str, NDArray[Any]]() for _ in heads]
    for name, array in file.arrays.items():
        position, dot, short = name.partition(".")
        if not dot:
            own[name] = array
        elif position.isdecimal() and len(position) < 9 and int(position) < len(member_arrays):
            member_arrays[int(position)][short] = array
        else:
            raise ModelFileError(f"{file.path}: array {name!r} belongs to no member; save the model again")
    parts = []
    for head, arrays in zip(heads, member_arrays, strict=True):
        kind, version, metadata = map(head.get, _HEAD) if isinstance(head, dict) else (None, None, None)
        if not (isinstance(kind, str) and type(version) is int and isinstance(metadata, dict)):
            raise ModelFileError(f"{file.path}: a member has no kind, version or metadata; save the model again")
        parts.append(ModelFile(file.path, kind, version, metadata, arrays))
    return ModelFile(file.path, file.kind, file.version, file.metadata, own), parts


def _member_to_part(member: Member) -> ModelFile:
    if isinstance(member, TreeMember):
        arrays = {name: getattr(member.tree, name) for name in _TREE_ARRAYS}
        return ModelFile(Path(), "tree", 1, {"n_features": member.n_features}, arrays)
    if isinstance(member, MomentsMember):
        return ModelFile(Path(), "moments", 1, {"smoothing": member.moments.smoothing}, dict(member.moments.arrays()))
    estimator: Any = member.estimator if isinstance(member, EstimatorMember) else member
    if isinstance(member, AnytimeMember) and is_saveable(estimator):
        part: ModelFile = estimator.to_file()
        return part
    raise TypeError(
        f"a model file stores no code and therefore no {type(estimator).__name__}, which is a member; pickle the "
        "ensemble instead, or use classifiers of anystream or scikit-learn's DecisionTreeClassifier as members"
    )


def _member_from_part(part: ModelFile, *, n_classes: int, n_features: int, mapped: bool) -> Member:
    """Return the member; its classes must be numbers below `n_classes`, its features at most `n_features`."""
    member: Member
    if part.kind == "tree":
        member, numbers = _read_tree(part, n_features)
    elif part.kind == "moments":
        member, numbers = _read_moments(part)
    else:
        member, numbers = _read_classifier(part, mapped=mapped)
    known = numbers.dtype.kind in "iu" and numbers.min(initial=0) >= 0 and numbers.max(initial=0) < n_classes
    if not known or member.n_features > n_features:
        raise ModelFileError(f"{part.path}: a member has classes or features that the model lacks; save it again")
    return member


def _read_tree(part: ModelFile, n_features: int) -> tuple[TreeMember, NDArray[Any]]:
    arrays, sizes = check_arrays(part, _TREE_ARRAYS)
    tree = FlatTree(**{name: array.copy() for name, array in arrays.items()})
    used = require_metadata(part, "n_features", int, low=1, high=n_features)
    if not tree.is_valid(used) or (np.abs(tree.shares.sum(axis=1) - 1.0) > 1e-6).any():
        raise ModelFileError(
            f"{part.path}: a path of a tree does not end in a leaf, or its class shares do not sum to 1; "
            "save the model again"
        )
    return TreeMember.from_tree(tree, used), np.arange(sizes["classes"])


def _read_moments(part: ModelFile) -> tuple[MomentsMember, NDArray[Any]]:
    moments = GaussianMoments.from_file(part, require_metadata(part, "smoothing", float, low=sys.float_info.min))
    n_classes, n_features = moments.shape
    member = MomentsMember(moments)
    member.n_features = n_features
    return member, np.arange(n_classes)


def _read_classifier(part: ModelFile, *, mapped: bool) -> tuple[AnytimeMember, NDArray[Any]]:
    found = find_class(part.kind)
    if found is None:
        raise ModelFileError(
            f"{part.path}: a member is of kind {part.kind!r}, which this anystream cannot read; upgrade, or import the "
            "module that defines the classifier"
        )
    estimator: Any = found.from_file(part, mapped=mapped)
    member = AnytimeMember(estimator)
    member.n_features = estimator.n_features_in_
    return member, np.asarray(estimator.classes_)
