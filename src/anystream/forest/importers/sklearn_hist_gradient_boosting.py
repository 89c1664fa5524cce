"""`HistGradientBoostingClassifier` of scikit-learn, whose nodes are private arrays.

Columns of categories come first in its trees, as numbers of their sorted values. A category goes left if it is in the
set of the split, right if it is another one of the training data, and where NaN goes otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from anystream.forest.ensemble import TreeEnsemble
from anystream.forest.importers.sklearn_names import feature_names
from anystream.forest.joining import ImportedTree, join_trees, pack_categories
from anystream.forest.link import Link
from anystream.model_file.errors import InvalidContent, short


def import_hist_gradient_boosting(model: Any) -> TreeEnsemble:
    """Return the ensemble of a `HistGradientBoostingClassifier` on numbers and on categories that are numbers."""
    check_is_fitted(model)
    columns, values = _column_order(model)
    n_outputs = model.n_trees_per_iteration_
    trees = [_convert_tree(predictor, columns, values) for iteration in model._predictors for predictor in iteration]
    nodes = join_trees(trees)
    used = set(nodes["feature"][nodes["category_set"] >= 0].tolist())
    return TreeEnsemble(
        **nodes,
        output=np.tile(np.arange(n_outputs, dtype=np.int32), len(model._predictors)),
        base=np.asarray(model._baseline_prediction, np.float64).reshape(n_outputs),
        divisor=1.0,
        link=Link("sigmoid" if n_outputs == 1 else "softmax", label_from_scores=True),
        single_records=False,
        single_sums=False,
        accepts_missing=True,
        classes=model.classes_,
        n_features=model.n_features_in_,
        feature_names=feature_names(model),
        categories={feature: _as_numbers(values[feature], feature) for feature in sorted(used)},
        min_category=0.0,
        source="scikit-learn HistGradientBoostingClassifier",
    )


def _column_order(model: Any) -> tuple[NDArray[np.intp], dict[int, NDArray[Any]]]:
    """Return the column of each feature of the trees, and the values of the categories of columns that have them."""
    if model.is_categorical_ is None:
        return np.arange(model.n_features_in_), {}
    first = np.flatnonzero(model.is_categorical_)
    encoder = model._preprocessor.named_transformers_["encoder"]
    values = {column: _without_nan(found) for column, found in zip(first.tolist(), encoder.categories_, strict=True)}
    return np.concatenate([first, np.flatnonzero(~model.is_categorical_)]), values


def _convert_tree(predictor: Any, columns: NDArray[np.intp], values: dict[int, NDArray[Any]]) -> ImportedTree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"] != 0
    feature = columns[np.where(leaf, 0, nodes["feature_idx"])]
    left, right = (np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
    missing_left = nodes["missing_go_to_left"] != 0
    words: dict[int, NDArray[np.uint32]] = {}
    for node in np.flatnonzero((nodes["is_categorical"] != 0) & ~leaf).tolist():
        bits = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]].astype(np.uint32)
        if not missing_left[node]:
            words[node] = bits
            continue
        # Unknown categories go left with NaN: turn the split around, so that they are those outside of the set.
        known = np.arange(len(values[int(feature[node])]))
        words[node] = pack_categories(known[(bits[known // 32] >> (known % 32).astype(np.uint32)) & 1 == 0])
        left[node], right[node] = right[node], left[node]
        missing_left[node] = False
    return ImportedTree(
        feature=feature,
        threshold=nodes["num_threshold"].astype(np.float64),
        left=left,
        right=right,
        missing_left=missing_left,
        value=nodes["value"].astype(np.float64)[:, None],
        cover=nodes["count"].astype(np.float64),
        category_words=words,
    )


def _without_nan(values: NDArray[Any]) -> NDArray[Any]:
    """Return the categories without the missing one, which is last."""
    last = values[-1] if len(values) else None
    return values[:-1] if isinstance(last, (float, np.floating)) and np.isnan(last) else values


def _as_numbers(values: NDArray[Any], feature: int) -> NDArray[np.float64]:
    try:
        if np.asarray(values).dtype.kind in "OSU" and any(isinstance(value, str) for value in values.tolist()):
            raise ValueError
        return np.asarray(values, np.float64)
    except (ValueError, TypeError):
        remedy = "train on categories that are numbers, for example with an OrdinalEncoder"
        raise InvalidContent(
            f"feature {feature} has categories that are not numbers, {short(values)}", remedy
        ) from None
