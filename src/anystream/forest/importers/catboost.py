"""CatBoost: models as JSON, and its objects through that JSON.

Trees are oblivious: all splits of a level are equal, and bit i of a leaf's number tells whether split i is true. Trees
of other growing policies are nested. A split is true, and goes right, if the value is above the border or is the
category.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.forest.ensemble import TreeEnsemble
from anystream.forest.importers.fields import float_array, get_field, get_list, parse_count
from anystream.forest.joining import ImportedTree, join_trees, pack_categories
from anystream.forest.link import Link, LinkKind
from anystream.forest.thresholds import round_down
from anystream.model_file.errors import InvalidContent, short
from anystream.model_file.strict_json import parse_json

MAX_JSON_DEPTH = 300  # nested trees: one level of JSON per level of the tree
_MAX_DEPTH = 16
_MAX_FEATURES = 2**24
_LINKS: dict[str, LinkKind] = {
    "Logloss": "sigmoid",
    "CrossEntropy": "sigmoid",
    "MultiClass": "softmax",
    "MultiClassOneVsAll": "one_vs_all",
}


def import_classifier(model: Any) -> TreeEnsemble:
    """Return the ensemble of a `CatBoostClassifier` without splits on categories, whose values are not in the model."""
    if not hasattr(model, "save_model"):
        raise InvalidContent(f"{type(model).__name__} of CatBoost is not a classifier", "pass a CatBoostClassifier")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return convert_catboost(parse_json(path.read_bytes(), MAX_JSON_DEPTH))


def convert_catboost(content: Mapping[str, Any]) -> TreeEnsemble:
    """Return the ensemble of a model as JSON values."""
    features = _Features(get_field(content, "features_info", dict))
    scale, bias = _scale_and_bias(content)
    link = _parse_link(content)
    classes = _parse_classes(content, 2 if link.kind == "sigmoid" else len(bias))
    n_outputs = link.n_outputs(len(classes))
    if len(bias) not in (1, n_outputs):
        raise InvalidContent(f"it has {len(bias)} biases, expected {n_outputs}")
    if "oblivious_trees" in content:
        trees = [_convert_oblivious(tree, features, n_outputs) for tree in get_field(content, "oblivious_trees", list)]
    else:
        trees = [_convert_nested(tree, features, n_outputs) for tree in get_field(content, "trees", list)]
    nodes = join_trees(trees)
    nodes["value"] = nodes["value"] * scale
    return TreeEnsemble(
        **nodes,
        output=np.full(len(trees), -1 if n_outputs > 1 else 0, np.int32),
        base=np.broadcast_to(bias, (n_outputs,)).copy(),
        divisor=1.0,
        link=link,
        single_records=True,
        single_sums=False,
        accepts_missing=True,
        classes=classes,
        n_features=features.count,
        feature_names=features.names,
        categories=features.categories,
        min_category=0.0,
        source="CatBoost JSON",
    )


class _Features:
    """Columns of the float and categorical features, their NaN, and the numbers of categories."""

    def __init__(self, info: Mapping[str, Any]) -> None:
        for kind in ("text_features", "embedding_features"):
            if info.get(kind):
                raise InvalidContent(f"it has {kind.replace('_', ' ')}", "train on numbers and one-hot categories")
        self._floats = [_check_feature(entry) for entry in get_list(info, "float_features")]
        self._categoricals = [_check_feature(entry) for entry in get_list(info, "categorical_features")]
        columns = [entry["flat_feature_index"] for entry in self._floats + self._categoricals]
        self.count = max(columns, default=-1) + 1
        if len(set(columns)) != len(columns):
            raise InvalidContent("it has two features in one column")
        names = {
            entry["flat_feature_index"]: str(entry.get("feature_name") or entry["flat_feature_index"])
            for entry in self._floats + self._categoricals
        }
        self.names = (
            tuple(names.get(column, str(column)) for column in range(self.count))
            if self.count == len(columns)
            else None
        )
        hashes = get_list(info, "cat_features_hash")
        self._texts = {get_field(entry, "hash", int) % 2**32: get_field(entry, "value", str) for entry in hashes}
        self._numbers: dict[int, dict[float, int]] = {}

    @property
    def categories(self) -> dict[int, NDArray[np.float64]]:
        """Values of the categories that splits use, by column."""
        return {column: np.array(list(numbers), np.float64) for column, numbers in self._numbers.items()}

    def parse_split(self, split: Any) -> tuple[int, float, bool, int]:
        """Return column, border, whether NaN is above the border, and the category; -1 for a split on a number."""
        if type(split) is not dict:
            raise InvalidContent(f"a split is {short(split)} instead of an object")
        kind = get_field(split, "split_type", str)
        if kind == "FloatFeature":
            entry = _pick(self._floats, get_field(split, "float_feature_index", int))
            return entry["flat_feature_index"], get_field(split, "border", float), _nan_is_true(entry), -1
        if kind == "OneHotFeature":
            entry = _pick(self._categoricals, get_field(split, "cat_feature_index", int))
            return entry["flat_feature_index"], 0.0, False, self._number(entry, get_field(split, "value", int) % 2**32)
        remedy = "train with numbers, or with one_hot_max_size above the number of categories"
        raise InvalidContent(
            f"it has a split of type {short(kind)}, allowed are FloatFeature and OneHotFeature", remedy
        )

    def _number(self, entry: Mapping[str, Any], text_hash: int) -> int:
        text = self._texts.get(text_hash)
        column = entry["flat_feature_index"]
        if text is None:
            remedy = "export it with save_model(path, format='json', pool=training_pool)"
            raise InvalidContent(f"the value of a category of feature {column} is not in the file", remedy)
        if not re.fullmatch(r"-?\d{1,15}", text):
            remedy = "train on categories that are whole numbers"
            raise InvalidContent(f"feature {column} has the category {short(text)}, which is not a number", remedy)
        numbers = self._numbers.setdefault(column, {})
        return numbers.setdefault(float(text), len(numbers))


def _check_feature(entry: Any) -> dict[str, Any]:
    if type(entry) is not dict:
        raise InvalidContent(f"a feature is {short(entry)} instead of an object")
    return entry | {
        "flat_feature_index": parse_count(entry.get("flat_feature_index"), "flat_feature_index", _MAX_FEATURES)
    }


def _pick(entries: list[dict[str, Any]], index: int) -> dict[str, Any]:
    if not 0 <= index < len(entries):
        raise InvalidContent(f"a split uses feature {index} of {len(entries)}")
    if entries[index].get("feature_index", index) != index:
        raise InvalidContent(f"its feature {index} is not in place {index}")
    return entries[index]


def _nan_is_true(entry: Mapping[str, Any]) -> bool:
    treatment = entry.get("nan_value_treatment", "AsIs")
    if treatment not in ("AsIs", "AsFalse", "AsTrue"):
        raise InvalidContent(f"its nan_value_treatment is {short(treatment)}, allowed are AsIs, AsFalse and AsTrue")
    return bool(treatment == "AsTrue")  # a NaN that is compared as it is, is above no border


def _convert_oblivious(tree: Any, features: _Features, n_outputs: int) -> ImportedTree:
    if type(tree) is not dict:
        raise InvalidContent(f"a tree is {short(tree)} instead of an object")
    splits = [features.parse_split(split) for split in get_list(tree, "splits")]
    depth = len(splits)
    if depth > _MAX_DEPTH:
        raise InvalidContent(f"it has a tree of depth {depth}, allowed is {_MAX_DEPTH}")
    n_leaves = 2**depth
    values = float_array(tree, "leaf_values", n_leaves * n_outputs).reshape(n_leaves, n_outputs)
    weights = float_array(tree, "leaf_weights", n_leaves) if len(get_list(tree, "leaf_weights")) else np.ones(n_leaves)
    builder = _NodeLists()
    for level, split in enumerate(splits):
        for position in range(2**level):
            child = 2 ** (level + 1) - 1 + 2 * position
            builder.add_split(split, child, child + 1, n_outputs)
    for position in range(n_leaves):  # the first split, at the root, is the lowest bit of a leaf's number
        leaf = int(f"{position:0{depth}b}"[::-1], 2) if depth else 0
        builder.add_leaf(values[leaf], weights[leaf])
    return builder.finish()


def _convert_nested(tree: Any, features: _Features, n_outputs: int) -> ImportedTree:
    builder = _NodeLists()
    nodes = [tree]
    for node in nodes:  # grows as children are found
        if type(node) is not dict:
            raise InvalidContent(f"a node is {short(node)} instead of an object")
        if "split" in node:
            builder.add_split(features.parse_split(node["split"]), len(nodes), len(nodes) + 1, n_outputs)
            nodes += [node.get("left"), node.get("right")]
        else:
            value = node.get("value")
            found = float_array({"value": value if type(value) is list else [value]}, "value", n_outputs)
            weight = node.get("weight")
            builder.add_leaf(found, 1.0 if weight is None else get_field(node, "weight", float))
    return builder.finish()


class _NodeLists:
    """Nodes of a tree in the making."""

    def __init__(self) -> None:
        self._splits: list[tuple[int, float, int, int, bool]] = []
        self._values: list[NDArray[np.float64]] = []
        self._cover: list[float] = []
        self._words: dict[int, NDArray[np.uint32]] = {}

    def add_split(self, split: tuple[int, float, bool, int], false: int, true: int, n_outputs: int) -> None:
        column, border, nan_is_true, category = split
        if category >= 0:  # an ensemble sends the category of the set left
            self._words[len(self._splits)] = pack_categories(np.array([category]))
            false, true = true, false
        self._splits.append((column, border, false, true, category < 0 and not nan_is_true))
        self._values.append(np.zeros(n_outputs))
        self._cover.append(0.0)

    def add_leaf(self, value: NDArray[np.float64], weight: float) -> None:
        self._splits.append((-1, 0.0, -1, -1, False))
        self._values.append(value)
        self._cover.append(weight)

    def finish(self) -> ImportedTree:
        feature, threshold, left, right, missing_left = map(np.array, zip(*self._splits, strict=True))
        return ImportedTree(
            feature=feature,
            threshold=round_down(threshold),
            left=left,
            right=right,
            missing_left=missing_left,
            value=np.array(self._values),
            cover=np.array(self._cover),
            category_words=self._words,
        )


def _scale_and_bias(content: Mapping[str, Any]) -> tuple[float, NDArray[np.float64]]:
    found = content.get("scale_and_bias", [1, [0]])
    if type(found) is not list or len(found) != 2 or type(found[0]) not in (int, float):
        raise InvalidContent(f"its scale_and_bias is {short(found)}")
    bias = found[1] if type(found[1]) is list else [found[1]]  # one number before version 0.24
    return float(found[0]), float_array({"bias": bias}, "bias")


def _parse_link(content: Mapping[str, Any]) -> Link:
    info = get_field(content, "model_info", dict)
    parameters = info.get("params")
    if type(parameters) is str:
        parameters = parse_json(parameters.encode(), 32)
    name = get_field({"params": parameters}, "params.loss_function.type", str)
    if name not in _LINKS:
        remedy = f"train with one of {', '.join(_LINKS)}"
        raise InvalidContent(f"its loss function is {short(name)}, for which no probabilities are known", remedy)
    return Link(_LINKS[name], label_from_scores=True)


def _parse_classes(content: Mapping[str, Any], n_classes: int) -> NDArray[Any]:
    """Return the class names, or 0, 1, ... below `n_classes` where the file has none."""
    info = get_field(content, "model_info", dict)
    found = info.get("class_params") or info.get("multiclass_params") or {}
    names = found.get("class_names") if type(found) is dict else None
    if not names:
        return np.arange(n_classes)
    if type(names) is not list or {type(name) for name in names} not in ({int}, {float}, {str}):
        raise InvalidContent(f"its class names are {short(names)}, expected texts or numbers")
    return np.array(names)
