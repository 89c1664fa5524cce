"""The native forest of an ensemble."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.forest.ensemble import TreeEnsemble

NONE: NDArray[np.float64] = np.empty(0)
"""No expected scores, or no margins."""
_ARRAYS = (
    "first_node",
    "feature",
    "threshold",
    "left",
    "category_set",
    "first_word",
    "category_words",
    "output",
    "base",
)


def build_native_forest(
    ensemble: TreeEnsemble,
    order: NDArray[np.int32],
    expected: NDArray[np.float64] = NONE,
    stop_margin: NDArray[np.float64] = NONE,
) -> _native.DecisionForest:
    """Return the native form of an ensemble, which copies its arrays.

    Parameters
    ----------
    ensemble : TreeEnsemble
        The trees.
    order : array of shape (n_slots,)
        Tree that each step advances; every tree as often as it has levels below the root.
    expected : array, optional
        What the winning class has after 0, 1, ... of its trees (`whole_trees.expected_scores`); every record then has
        an order of its own.
    stop_margin : array of shape (n_trees + 1,), optional
        Lead of a class after 0, 1, ... trees above which the work ends (`confidence`).
    """
    arrays = {name: np.ascontiguousarray(getattr(ensemble, name)) for name in _ARRAYS}
    arrays["missing_left"] = np.ascontiguousarray(ensemble.missing_left).view(np.uint8)
    arrays["zero_missing"] = np.ascontiguousarray(ensemble.zero_missing).view(np.uint8)
    arrays["value"] = np.ascontiguousarray(ensemble.value).reshape(-1)
    return _native.DecisionForest(
        arrays | _code_arrays(ensemble),
        np.ascontiguousarray(order, np.int32),
        np.ascontiguousarray(expected, np.float64),
        np.ascontiguousarray(stop_margin, np.float64),
        features=ensemble.n_features,
        classes=len(ensemble.classes),
        link=ensemble.link.kind,
        scale=ensemble.link.scale,
        label_from_scores=ensemble.link.label_from_scores,
        zero_is_positive=ensemble.link.zero_is_positive,
        divisor=ensemble.divisor,
        min_category=ensemble.min_category,
        single_records=ensemble.single_records,
        single_sums=ensemble.single_sums,
        accepts_missing=ensemble.accepts_missing,
    )


def _code_arrays(ensemble: TreeEnsemble) -> dict[str, NDArray[np.float64] | NDArray[np.int64]]:
    """Return the listed categories of all features, sorted by value within a feature."""
    features = sorted(ensemble.categories)
    lists = [np.asarray(ensemble.categories[feature]) for feature in features]
    orders = [np.argsort(values) for values in lists]
    return {
        "coded_feature": np.array(features, np.int64),
        "first_code": np.cumsum([0, *map(len, lists)], dtype=np.int64),
        "code_value": np.concatenate(
            [np.empty(0), *(values[order] for values, order in zip(lists, orders, strict=True))]
        ),
        "code": np.concatenate([np.empty(0, np.int64), *orders]).astype(np.int64),
    }
