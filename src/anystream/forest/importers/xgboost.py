"""XGBoost: models as JSON or UBJSON, and its objects through UBJSON.

A value goes left if it is *below* the split condition, in float32; a category goes left if it is *not* in the set of
the split. Leaves keep their value in ``split_conditions``. Sums are made in float32 and start at the base score.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.forest.ensemble import MAX_CLASSES, MAX_FEATURES, TreeEnsemble
from anystream.forest.importers.fields import float_array, get_field, get_list, int_array, parse_count
from anystream.forest.importers.ubjson import parse_ubjson
from anystream.forest.joining import MAX_CATEGORY_WORDS, ImportedTree, join_trees, pack_categories
from anystream.forest.link import Link
from anystream.forest.thresholds import step_below
from anystream.model_file.errors import InvalidContent, short

_MAX_CATEGORY = 2**24  # XGBoost takes larger values for no category
_OBJECTIVES = {"binary:logistic": "sigmoid", "multi:softprob": "softmax", "multi:softmax": "softmax"}


def import_booster(model: Any) -> TreeEnsemble:
    """Return the ensemble of a `Booster`, or of an `XGBClassifier` with its best iteration if it stopped early."""
    is_booster = hasattr(model, "save_raw")
    if not is_booster and not hasattr(model, "get_booster"):
        raise InvalidContent(
            f"{type(model).__name__} of XGBoost is not a classifier", "pass a Booster or XGBClassifier"
        )
    missing = getattr(model, "missing", math.nan)
    if not (isinstance(missing, float) and math.isnan(missing)):
        raise InvalidContent(f"its missing value is {missing!r}", "train with missing=nan and replace the value by NaN")
    booster = model if is_booster else model.get_booster()
    content = parse_ubjson(bytes(booster.save_raw("ubj")))
    return convert_xgboost(content, classes=getattr(model, "classes_", None), all_trees=is_booster)


def convert_xgboost(
    content: Mapping[str, Any], *, classes: NDArray[Any] | None = None, all_trees: bool = False
) -> TreeEnsemble:
    """Return the ensemble of a model as JSON values.

    Parameters
    ----------
    content : mapping
        The whole model.
    classes : array, optional
        Class labels; by default 0, 1, ...
    all_trees : bool, default=False
        Use all trees rather than those up to the best iteration, if training noted one.
    """
    learner = get_field(content, "learner", dict)
    objective = get_field(learner, "objective.name", str)
    if objective not in _OBJECTIVES:
        remedy = f"train with one of {', '.join(_OBJECTIVES)}"
        raise InvalidContent(f"its objective is {short(objective)}, for which no probabilities are known", remedy)
    booster = get_field(learner, "gradient_booster", dict)
    name = get_field(booster, "name", str)
    if name not in ("gbtree", "dart"):
        raise InvalidContent(f"its booster is {short(name)}, which has no trees", "train with gbtree or dart")
    model = get_field(booster, "gbtree.model" if name == "dart" else "model", dict)
    parameters = get_field(learner, "learner_model_param", dict)
    n_features = parse_count(parameters.get("num_feature"), "num_feature", MAX_FEATURES)
    n_classes = max(parse_count(parameters.get("num_class"), "num_class", MAX_CLASSES), 1)
    link = Link(_OBJECTIVES[objective])  # type: ignore[arg-type]  # the values are kinds
    n_outputs = 1 if link.kind == "sigmoid" else n_classes
    if parse_count(parameters.get("num_target", "1"), "num_target", MAX_CLASSES) != 1 or n_outputs != n_classes:
        raise InvalidContent(
            f"it has {n_classes} outputs for the objective {objective!r}", "train one model per target"
        )
    trees = get_field(model, "trees", list)
    output = int_array(model, "tree_info", len(trees))
    n_used = len(trees) if all_trees else _best_trees(learner, model, len(trees), n_outputs)
    if n_used and (output.min() < 0 or output.max() >= n_outputs):
        raise InvalidContent(f"tree_info has output {output.max()}, expected 0 to {n_outputs - 1}")
    base = _base_scores(parameters.get("base_score"), link, n_outputs)
    imported = _Trees(n_features).convert(trees[:n_used])
    if name == "dart":
        imported = _weight_trees(imported, float_array(booster, "weight_drop", len(trees)), base[output])
    names = tuple(str(feature) for feature in get_list(learner, "feature_names"))
    nodes = join_trees(imported)
    return TreeEnsemble(
        **nodes,
        output=output[:n_used].astype(np.int32),
        base=base.astype(np.float64),
        divisor=1.0,
        link=link,
        single_records=True,
        single_sums=True,
        accepts_missing=True,
        classes=np.arange(max(n_classes, 2) if n_outputs == 1 else n_classes)
        if classes is None
        else np.asarray(classes),
        n_features=n_features,
        feature_names=names or None,
        categories=_category_values(model.get("cats") or {}, nodes),
        min_category=0.0,
        source=f"XGBoost {_version(content)}",
    )


class _Trees:
    """Conversion of trees, which counts the bits of categories of all of them."""

    def __init__(self, n_features: int) -> None:
        self._n_features = n_features
        self._free_words = MAX_CATEGORY_WORDS

    def convert(self, trees: list[Any]) -> list[ImportedTree]:
        return [self._convert_tree(tree, number) for number, tree in enumerate(trees)]

    def _convert_tree(self, tree: Any, number: int) -> ImportedTree:
        if type(tree) is not dict:
            raise InvalidContent(f"tree {number} is {short(tree)} instead of an object")
        parameters = get_field(tree, "tree_param", dict)
        if str(parameters.get("size_leaf_vector", "0")) not in ("0", "1"):
            remedy = "train with multi_strategy='one_output_per_tree'"
            raise InvalidContent(f"tree {number} has leaves with several values", remedy)
        left = int_array(tree, "left_children")
        n_nodes = len(left)
        right = int_array(tree, "right_children", n_nodes)
        feature = int_array(tree, "split_indices", n_nodes)
        with np.errstate(over="ignore"):
            condition = float_array(tree, "split_conditions", n_nodes).astype(np.float32)
        default_left = int_array(tree, "default_left", n_nodes) != 0
        if (feature < 0).any() or (feature >= max(self._n_features, 1)).any():
            raise InvalidContent(f"tree {number} splits feature {feature.max()} of {self._n_features}")
        words = self._category_words(tree, n_nodes)
        # Categories of the set go right here and left in an ensemble, so the children change sides.
        swapped = np.zeros(n_nodes, bool)
        swapped[list(words)] = True
        cover = float_array(tree, "sum_hessian", n_nodes)
        return ImportedTree(
            feature=feature,
            threshold=np.where(left < 0, 0.0, step_below(condition)),
            left=np.where(swapped, right, left),
            right=np.where(swapped, left, right),
            missing_left=default_left != swapped,
            value=condition.astype(np.float64)[:, None],
            cover=np.maximum(cover, 0.0),
            category_words=words,
        )

    def _category_words(self, tree: Mapping[str, Any], n_nodes: int) -> dict[int, NDArray[np.uint32]]:
        if not len(get_list(tree, "categories_nodes")):  # none, or older than 1.3
            if len(get_list(tree, "split_type")) and int_array(tree, "split_type", n_nodes).any():
                raise InvalidContent("it has a split on categories without categories")
            return {}
        nodes = int_array(tree, "categories_nodes")
        starts = int_array(tree, "categories_segments", len(nodes))
        sizes = int_array(tree, "categories_sizes", len(nodes))
        categories = int_array(tree, "categories")
        is_split = int_array(tree, "split_type", n_nodes) == 1
        valid = (starts >= 0) & (sizes >= 0) & (starts <= len(categories)) & (sizes <= len(categories) - starts)
        if not valid.all() or not np.array_equal(np.sort(nodes), np.flatnonzero(is_split)):
            raise InvalidContent("its lists of categories do not belong to its splits")
        if len(categories) and not 0 <= categories.min() <= categories.max() < _MAX_CATEGORY:
            raise InvalidContent(f"it has category {categories.max()}, allowed are 0 to {_MAX_CATEGORY - 1}")
        words = {}
        for node, start, size in zip(nodes.tolist(), starts.tolist(), sizes.tolist(), strict=True):
            words[node] = pack_categories(categories[start : start + size], self._free_words)
            self._free_words -= len(words[node])
        return words


def _weight_trees(
    trees: list[ImportedTree], weights: NDArray[np.float64], base: NDArray[np.float32]
) -> list[ImportedTree]:
    """Return trees of dart with weighted leaves, rounded as XGBoost does: it adds the base first and subtracts it.

    Parameters
    ----------
    trees : list of ImportedTree
        The trees in use.
    weights : array of shape (n_trees,)
        Weights of all trees.
    base : array of shape (n_trees,)
        Score without trees of the output of each tree.
    """
    weighted = []
    with np.errstate(over="ignore", invalid="ignore"):  # the ensemble rejects infinite values
        for tree, weight, start in zip(trees, weights, base, strict=False):
            value = ((start + tree.value.astype(np.float32)) - start) * np.float32(weight)
            weighted.append(replace(tree, value=value.astype(np.float64)))
    return weighted


def _base_scores(found: object, link: Link, n_outputs: int) -> NDArray[np.float32]:
    """Return the scores without trees; those of a sigmoid are stored as a probability."""
    try:
        if not isinstance(found, str) or len(found) > 100 * MAX_CLASSES:
            raise ValueError
        numbers = json.loads(found) if found.startswith("[") else [float(found)]
        with np.errstate(over="ignore"):
            scores = np.array(numbers, np.float64).astype(np.float32)
        if scores.shape not in ((1,), (n_outputs,)):
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise InvalidContent(f"its base_score is {short(found)}, expected {n_outputs} numbers") from None
    if link.kind == "sigmoid":
        if not 0 < scores[0] < 1:
            raise InvalidContent(f"its base_score is {scores[0]}, expected a probability between 0 and 1")
        odds = (np.float32(1) / scores - np.float32(1)).astype(np.float64)
        scores = -np.log(odds).astype(np.float32)  # NumPy's logarithm in float32 is a rounding step off now and then
    return np.broadcast_to(scores, (n_outputs,))


def _best_trees(learner: Mapping[str, Any], model: Mapping[str, Any], n_trees: int, n_outputs: int) -> int:
    """Return the number of trees up to the best iteration, or of all."""
    attributes = learner.get("attributes") or {}
    if type(attributes) is not dict or "best_iteration" not in attributes:
        return n_trees
    n_rounds = parse_count(attributes["best_iteration"], "best_iteration", n_trees) + 1
    if "iteration_indptr" in model:
        ends = int_array(model, "iteration_indptr")
        if len(ends) > n_rounds and 0 <= ends[n_rounds] <= n_trees:
            return int(ends[n_rounds])
        raise InvalidContent(f"its best iteration {n_rounds - 1} is beyond its last")
    parallel = parse_count(
        get_field(model, "gbtree_model_param", dict).get("num_parallel_tree", "1"), "num_parallel_tree", n_trees
    )
    return min(n_rounds * n_outputs * max(parallel, 1), n_trees)


def _category_values(cats: Any, nodes: Mapping[str, NDArray[Any]]) -> dict[int, NDArray[np.float64]]:
    """Return the values behind category numbers, if the model was trained on a data frame with categories."""
    values: dict[int, NDArray[np.float64]] = {}
    encodings = get_field(cats, "enc", list) if cats else []
    for feature in np.unique(nodes["feature"][nodes["category_set"] >= 0]).tolist() if encodings else []:
        entry = encodings[feature] if feature < len(encodings) else None
        if type(entry) is not dict or ("offsets" in entry and len(get_list(entry, "values"))):
            remedy = "train on numbers with feature_types= instead of a data frame with categories"
            raise InvalidContent(f"feature {feature} has categories that are not numbers", remedy)
        if len(get_list(entry, "values")):
            values[feature] = float_array(entry, "values")
    return values


def _version(content: Mapping[str, Any]) -> str:
    version = content.get("version")
    parts = version.tolist() if isinstance(version, np.ndarray) else version
    return ".".join(str(part) for part in parts[:3]) if isinstance(parts, list) else "of an unknown version"
