"""Ensemble of decision trees as flat arrays: one form for the models of every framework.

A split sends a record left if its value is at most the threshold, whatever the framework compares: importers move
thresholds so that this decides alike for every value (`thresholds`). Nodes of one tree are consecutive, the root first,
parents before children, and the two children of a split side by side::

    tree 0                      tree 1
    node     0  1  2  3  4      5
    feature  2 -1  0 -1 -1     -1     -1 is a leaf
    left     1 -1  3 -1 -1     -1     the right child is left + 1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.forest.link import Link
from anystream.model_file import ArraySpec
from anystream.model_file.checks import check_named_arrays
from anystream.model_file.errors import InvalidContent, short
from anystream.model_file.payload import is_mapped

MAX_CLASSES = 2**16
MAX_FEATURES = 2**31 - 2
_MAX_VALUE = 1e100  # sums of any number of trees stay finite
_MAX_SINGLE = 1e30  # the same for sums in float32
_SPECS = {
    "first_node": ArraySpec("int64", ("trees+1",), low=0, high="nodes", sorted=True),
    "feature": ArraySpec("int32", ("nodes",), low=-1, high="features-1"),
    "threshold": ArraySpec("float64", ("nodes",), low=-np.inf),
    "left": ArraySpec("int32", ("nodes",), low=-1, high="nodes-2"),
    "missing_left": ArraySpec("bool", ("nodes",)),
    "zero_missing": ArraySpec("bool", ("nodes",)),
    "category_set": ArraySpec("int32", ("nodes",), low=-1, high="sets-1"),
    "first_word": ArraySpec("int64", ("sets+1",), low=0, high="words", sorted=True),
    "category_words": ArraySpec("uint32", ("words",)),
    "value": ArraySpec("float64", ("nodes", "width"), low=-_MAX_VALUE, high=_MAX_VALUE),
    "cover": ArraySpec("float64", ("nodes",), low=0.0, high=_MAX_VALUE),
    "output": ArraySpec("int32", ("trees",), low=-1, high="outputs-1"),
    "base": ArraySpec("float64", ("outputs",), low=-_MAX_VALUE, high=_MAX_VALUE),
}
ARRAY_NAMES = tuple(_SPECS)
"""Fields that are arrays of nodes, trees, sets or outputs."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TreeEnsemble:
    """Trees whose values add up to scores, which a link turns into probabilities.

    The scores of a record are ``(base + sum of the values of its leaves) / divisor``, added in the order of the trees.

    Parameters
    ----------
    first_node : array of shape (n_trees + 1,)
        Root of each tree, and the number of nodes.
    feature : array of shape (n_nodes,)
        Feature that a split reads; -1 for a leaf.
    threshold : array of shape (n_nodes,)
        Values up to this go left; unused in leaves and in splits on categories.
    left : array of shape (n_nodes,)
        Left child, the right one is next to it; -1 for a leaf.
    missing_left : array of shape (n_nodes,)
        Whether NaN goes left.
    zero_missing : array of shape (n_nodes,)
        Whether values from -`ZERO` to `ZERO` go where NaN goes.
    category_set : array of shape (n_nodes,)
        Set of the categories that go left, all others go right; -1 for splits on numbers and leaves.
    first_word : array of shape (n_sets + 1,)
        Where the bits of each set begin in `category_words`.
    category_words : array of uint32
        Bit c % 32 of word c // 32 of a set is 1 if the set contains category c.
    value : array of shape (n_nodes, 1) or (n_nodes, n_outputs)
        What a leaf adds to one output or to all; for a split, the mean of the leaves below, weighted by `cover`.
    cover : array of shape (n_nodes,)
        Training weight of a leaf, such as its number of records; for a split, the sum of the leaves below.
    output : array of shape (n_trees,)
        Output to which a tree adds; -1: to all, if there is more than one.
    base : array of shape (n_outputs,)
        Scores without any tree.
    divisor : float
        Number by which sums are divided: that of the trees if they are averaged, otherwise 1.
    link : Link
        From scores to probabilities and labels.
    single_records : bool
        Whether records are rounded to float32 before they are compared; all thresholds are float32 numbers then.
    single_sums : bool
        Whether the framework adds in float32, so that full agreement needs the same.
    accepts_missing : bool
        Whether the framework classifies records with NaN.
    classes : array of shape (n_classes,)
        Class labels.
    n_features : int
        Number of features of a record.
    feature_names : tuple of str, optional
        Names of the features.
    categories : mapping of int to array
        Values of the categories 0, 1, ... of a feature. A feature on categories that is not listed here contains the
        categories themselves.
    min_category : float
        Values below this are no category; others are truncated to a whole number.
    source : str
        Framework and layout from which the ensemble was imported.
    """

    first_node: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    zero_missing: NDArray[np.bool_]
    category_set: NDArray[np.int32]
    first_word: NDArray[np.int64]
    category_words: NDArray[np.uint32]
    value: NDArray[np.float64]
    cover: NDArray[np.float64]
    output: NDArray[np.int32]
    base: NDArray[np.float64]
    divisor: float
    link: Link
    single_records: bool
    single_sums: bool
    accepts_missing: bool
    classes: NDArray[Any]
    n_features: int
    feature_names: tuple[str, ...] | None
    categories: Mapping[int, NDArray[np.float64]]
    min_category: float
    source: str

    def __post_init__(self) -> None:
        """Check every index and number; raise InvalidContent."""
        _check_names(self)
        arrays = {name: getattr(self, name) for name in _SPECS}
        sizes = {"features": self.n_features, "outputs": self.link.n_outputs(len(self.classes))}
        _, sizes = check_named_arrays(arrays, _SPECS, sizes)
        _check_structure(self)
        _check_splits(self)
        _check_outputs(self, sizes["width"], sizes["outputs"])

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.output)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return len(self.feature)

    @property
    def n_outputs(self) -> int:
        """Number of scores per record."""
        return len(self.base)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in memory; those in a mapped file are not counted."""
        arrays = [getattr(self, name) for name in _SPECS] + list(self.categories.values())
        return int(sum(array.nbytes for array in arrays if not is_mapped(array)))

    @property
    def categorical(self) -> NDArray[np.int32]:
        """Features that splits read as categories, sorted."""
        return np.unique(self.feature[self.category_set >= 0])


def _check_names(ensemble: TreeEnsemble) -> None:
    classes, names = ensemble.classes, ensemble.feature_names
    if classes.ndim != 1 or not 1 <= len(classes) <= MAX_CLASSES or len(np.unique(classes)) != len(classes):
        raise InvalidContent(f"its classes are {short(classes)}, expected 1 to {MAX_CLASSES} different ones")
    if ensemble.link.kind == "sigmoid" and len(classes) != 2:
        raise InvalidContent(f"it has one score for {len(classes)} classes, expected 2 classes")
    if not 0 <= ensemble.n_features <= MAX_FEATURES:
        raise InvalidContent(f"it has {ensemble.n_features} features, allowed are up to {MAX_FEATURES}")
    if names is not None and len(names) != ensemble.n_features:
        raise InvalidContent(f"it has {len(names)} feature names for {ensemble.n_features} features")
    if not 0 < ensemble.divisor < _MAX_VALUE:
        raise InvalidContent(f"its sums are divided by {ensemble.divisor}, allowed are numbers above 0")


def _check_structure(ensemble: TreeEnsemble) -> None:
    """Check that the nodes form trees: every node but the roots has one parent, in its tree and before it."""
    first, left = ensemble.first_node, ensemble.left
    if not len(left) or first[0] != 0 or first[-1] != len(left) or not (np.diff(first) > 0).all():
        raise InvalidContent("its trees do not cover its nodes one after another")
    splits = np.flatnonzero(left >= 0)
    if not np.array_equal(left >= 0, ensemble.feature >= 0):
        raise InvalidContent("it has a split without children or a leaf with children")
    children = np.concatenate([left[splits], left[splits] + 1])
    tree = np.repeat(np.arange(len(first) - 1), np.diff(first))
    parents = np.concatenate([splits, splits])
    if (children <= parents).any() or (tree[children] != tree[parents]).any():
        raise InvalidContent("it has a child before its parent or in another tree")
    others = np.ones(len(left), bool)
    others[first[:-1]] = False
    if not np.array_equal(np.sort(children), np.flatnonzero(others)):
        raise InvalidContent("it has a node with two parents or with none")


def _check_splits(ensemble: TreeEnsemble) -> None:
    on_categories = ensemble.category_set >= 0
    on_numbers = (ensemble.feature >= 0) & ~on_categories
    if (on_categories & (ensemble.feature < 0)).any() or (ensemble.zero_missing & ~on_numbers).any():
        raise InvalidContent("it has a leaf with categories, or categories of which zero is missing")
    both = np.intersect1d(ensemble.categorical, ensemble.feature[on_numbers])
    if len(both):
        raise InvalidContent(f"feature {both[0]} is split as a number and as a category")
    words = ensemble.first_word
    if words[0] != 0 or words[-1] != len(ensemble.category_words):
        raise InvalidContent("its sets of categories do not lie one after another")
    if not 0 <= -ensemble.min_category < 1:
        raise InvalidContent(f"its lowest category is {ensemble.min_category}, allowed are numbers above -1 up to 0")
    for feature, values in ensemble.categories.items():
        if not 0 <= feature < ensemble.n_features or values.dtype != np.float64 or values.ndim != 1:
            raise InvalidContent(f"the categories of feature {feature} are {short(values)}")
        if not np.isfinite(values).all() or len(np.unique(values)) != len(values):
            raise InvalidContent(f"the categories of feature {feature} are not finite or not different")
    if ensemble.single_records:
        used = ensemble.threshold[on_numbers]
        with np.errstate(over="ignore"):
            exact = used.astype(np.float32) == used
        if not exact.all():
            raise InvalidContent(f"threshold {used[~exact][0]} is not a float32 number")


def _check_outputs(ensemble: TreeEnsemble, width: int, outputs: int) -> None:
    if width == 1 and outputs > 1 and (ensemble.output < 0).any():
        raise InvalidContent("it has a tree without an output")
    if width != 1 and (width != outputs or (ensemble.output >= 0).any()):
        raise InvalidContent(f"its nodes have {width} values, expected 1 or {outputs}")
    if ensemble.single_sums and (max(np.abs(ensemble.value).max(), np.abs(ensemble.base).max()) > _MAX_SINGLE):
        raise InvalidContent(f"it has a value beyond {_MAX_SINGLE:g}, which is too large for float32 sums")
    if ensemble.link.kind == "mean":
        sums = ensemble.value.sum(axis=1)
        weights = sums[ensemble.first_node[:-1]]  # of the trees: all alike, unless forests were merged
        alike = np.allclose(sums, np.repeat(weights, np.diff(ensemble.first_node)), rtol=1e-6, atol=0)
        if (ensemble.value < 0).any() or not alike or ensemble.base.any():
            raise InvalidContent("its values are not shares of classes")
        if not np.isclose(weights.sum(), ensemble.divisor, rtol=1e-6, atol=0):
            raise InvalidContent("its shares of classes do not sum to 1")
