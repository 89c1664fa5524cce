"""Decision trees of scikit-learn and ensembles that average them: forests, extra trees, bagging.

Records are rounded to float32 and compared with float64 thresholds: up to a threshold they go left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from anystream.forest.ensemble import TreeEnsemble
from anystream.forest.importers.sklearn_names import feature_names
from anystream.forest.joining import ImportedTree, join_trees
from anystream.forest.link import Link
from anystream.forest.thresholds import round_down
from anystream.model_file.errors import InvalidContent


def import_averaged_trees(model: Any) -> TreeEnsemble:
    """Return the ensemble of a tree, a forest or a bag of trees."""
    check_is_fitted(model)
    if np.ndim(model.n_classes_):
        raise InvalidContent(f"{type(model).__name__} has several outputs", "train one model per output")
    trees = _members(model)
    for tree in trees:
        if not isinstance(tree, DecisionTreeClassifier):
            remedy = "use BaggingClassifier(DecisionTreeClassifier())"
            raise InvalidContent(f"{type(model).__name__} contains {type(tree).__name__}, which is not a tree", remedy)
    n_classes = len(model.classes_)
    imported = [
        convert_tree(tree, tree.tree_.value[:, 0, :], columns)
        for tree, columns in zip(trees, _columns(model, len(trees)), strict=True)
    ]
    return TreeEnsemble(
        **join_trees(imported),
        output=np.full(len(trees), -1 if n_classes > 1 else 0, np.int32),
        base=np.zeros(n_classes),
        divisor=float(len(trees)),
        link=Link("mean"),
        single_records=True,
        single_sums=False,
        accepts_missing=bool(get_tags(model).input_tags.allow_nan),
        classes=model.classes_,
        n_features=model.n_features_in_,
        feature_names=feature_names(model),
        categories={},
        min_category=0.0,
        source=f"scikit-learn {type(model).__name__}",
    )


def convert_tree(
    tree: BaseDecisionTree, value: NDArray[np.float64], columns: NDArray[np.intp] | None = None
) -> ImportedTree:
    """Return a fitted tree with these values of nodes; `columns` are the features it was trained on."""
    nodes = tree.tree_.__getstate__()["nodes"]
    feature = np.maximum(nodes["feature"], 0)
    return ImportedTree(
        feature=feature if columns is None else np.asarray(columns)[feature],
        threshold=round_down(nodes["threshold"].astype(np.float64)),
        left=nodes["left_child"],
        right=nodes["right_child"],
        missing_left=nodes["missing_go_to_left"] != 0,
        value=value,
        cover=nodes["weighted_n_node_samples"].astype(np.float64),
    )


def _members(model: Any) -> list[Any]:
    return [model] if isinstance(model, DecisionTreeClassifier) else list(model.estimators_)


def _columns(model: Any, n_trees: int) -> Sequence[NDArray[np.intp] | None]:
    return model.estimators_features_ if isinstance(model, BaggingClassifier) else [None] * n_trees
