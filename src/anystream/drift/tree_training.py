"""Training of scikit-learn's decision trees without the checks around it, which take longer than a tree of 100 records.

`DecisionTreeClassifier.fit` validates parameters, records and labels and seeds a new generator before it calls the
compiled builder of trees. For members of an ensemble all of that is done already, so the builder is called directly. It
is not part of scikit-learn's public interface: when this module is imported it is compared with `fit`, and if the two
do not give the same tree, `fit` is used.
"""

from __future__ import annotations

import copy
import sys
import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

_sklearn: Any = sys.modules[DecisionTreeClassifier.__module__]
_DEFAULTS = DecisionTreeClassifier().get_params(deep=False)
_CHOSEN = ("criterion", "max_depth", "min_samples_leaf", "min_samples_split", "random_state")  # others as by default
_MAX_DEPTH = int(np.iinfo(np.int32).max)


class TrainedTree(NamedTuple):
    """A tree of scikit-learn and the class numbers of its columns."""

    nodes: NDArray[Any]
    value: NDArray[np.float64]
    classes: NDArray[np.integer]


class _Generator(threading.local):
    """A random generator of each thread, to be seeded before each use: making one takes longer than seeding it."""

    def __init__(self) -> None:
        self.state = np.random.RandomState(0)


_generator = _Generator()


def copy_unfitted_tree(estimator: DecisionTreeClassifier, seed: int) -> DecisionTreeClassifier:
    """Return what `sklearn.base.clone` returns; if `random_state` is None it becomes `seed`."""
    parameters = {name: copy.deepcopy(getattr(estimator, name)) for name in _DEFAULTS}
    if parameters["random_state"] is None:
        parameters["random_state"] = seed
    return DecisionTreeClassifier(**parameters)


def train_tree(
    estimator: DecisionTreeClassifier, records: NDArray[np.float64], numbers: NDArray[np.int32]
) -> TrainedTree:
    """Return the tree of ``estimator.fit(records, numbers)``, for records and class numbers that are validated."""
    if _direct_equals_fit and _is_simple(estimator):
        with np.errstate(over="ignore"):
            single = records.astype(np.float32)
        if np.isfinite(single).all():  # missing or too large values: scikit-learn has a path of its own for them
            return _train_directly(estimator, single, numbers)
    return _train_by_fit(estimator, records, numbers)


def _train_by_fit(
    estimator: DecisionTreeClassifier, records: NDArray[np.float64], numbers: NDArray[np.int32]
) -> TrainedTree:
    fitted = estimator.fit(records, numbers)
    return TrainedTree(fitted.tree_.__getstate__()["nodes"], fitted.tree_.value, fitted.classes_)


def _is_simple(estimator: DecisionTreeClassifier) -> bool:
    """Whether the parameters are valid and those that `_train_directly` does not know have their defaults."""
    return (
        all(_is_same(getattr(estimator, name), value) for name, value in _DEFAULTS.items() if name not in _CHOSEN)
        and estimator.criterion in ("gini", "entropy", "log_loss")
        and (estimator.max_depth is None or _is_int(estimator.max_depth, 1, _MAX_DEPTH))
        and _is_int(estimator.min_samples_leaf, 1, _MAX_DEPTH)
        and _is_int(estimator.min_samples_split, 2, _MAX_DEPTH)
        and _is_int(estimator.random_state, 0, 2**32 - 1)
    )


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _is_int(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _train_directly(
    estimator: DecisionTreeClassifier, records: NDArray[np.float32], numbers: NDArray[np.int32]
) -> TrainedTree:
    """Call the compiled builder as `fit` does; `estimator` is simple, all values are finite."""
    n_features = records.shape[1]
    present = np.bincount(numbers) > 0
    columns = (np.cumsum(present) - 1)[numbers].astype(np.float64).reshape(-1, 1)
    n_classes = np.array([np.count_nonzero(present)], dtype=np.intp)
    min_leaf = estimator.min_samples_leaf
    random_state = _generator.state
    random_state.seed(estimator.random_state)
    criterion = _sklearn.CRITERIA_CLF[estimator.criterion](1, n_classes)
    splitter = _sklearn.DENSE_SPLITTERS["best"](criterion, n_features, min_leaf, 0.0, random_state, None)
    builder = _sklearn.DepthFirstTreeBuilder(
        splitter,
        max(estimator.min_samples_split, 2 * min_leaf),
        min_leaf,
        0.0,
        _MAX_DEPTH if estimator.max_depth is None else estimator.max_depth,
        0.0,
    )
    tree = _sklearn.Tree(n_features, n_classes, 1)
    builder.build(tree, records, columns, None, None)
    return TrainedTree(tree.__getstate__()["nodes"], tree.value, np.flatnonzero(present))


def _compare_with_fit() -> bool:
    """Whether the builder of this scikit-learn gives the tree of `fit` for records in which many splits are equal."""
    records = (np.arange(240) ** 3 % 17).reshape(60, 4).astype(np.float32)
    numbers = (np.arange(60) ** 2 % 7 % 4 + 1).astype(np.int32)
    estimator = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=5)
    try:
        direct = _train_directly(estimator, records, numbers)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    by_fit = _train_by_fit(estimator, records.astype(np.float64), numbers)
    return all(np.array_equal(ours, theirs) for ours, theirs in zip(direct, by_fit, strict=True))


_direct_equals_fit = _compare_with_fit()
