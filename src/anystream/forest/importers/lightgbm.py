"""LightGBM: the text of a model, and its objects through that text.

A model is a header of ``name=value`` lines, one paragraph per tree, and its parameters. Splits are numbered from 0;
leaf i is written ~i.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.forest.ensemble import MAX_CLASSES, TreeEnsemble
from anystream.forest.importers.fields import parse_count
from anystream.forest.joining import ImportedTree, join_trees, single_leaf
from anystream.forest.link import Link
from anystream.forest.thresholds import skip_zero
from anystream.model_file.errors import InvalidContent, short
from anystream.model_file.strict_json import parse_json

_VERSIONS = ("v2", "v3", "v4")
_MAX_LEAVES = 2**30
_CATEGORICAL, _DEFAULT_LEFT, _MISSING_SHIFT = 1, 2, 2  # bits of decision_type
_MISSING_NONE, _MISSING_ZERO, _MISSING_NAN = 0, 1, 2


def import_booster(model: Any) -> TreeEnsemble:
    """Return the ensemble of a `Booster` or an `LGBMClassifier`, with the best iteration if training chose one."""
    booster = getattr(model, "booster_", model)
    if not hasattr(booster, "model_to_string"):
        raise InvalidContent(
            f"{type(model).__name__} of LightGBM is not a classifier", "pass a Booster or LGBMClassifier"
        )
    return read_lightgbm(booster.model_to_string().encode(), classes=getattr(model, "classes_", None))


def read_lightgbm(raw: bytes, classes: NDArray[Any] | None = None) -> TreeEnsemble:
    """Return the ensemble of a model as text; the classes are 0, 1, ... unless given."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as problem:
        raise InvalidContent(f"its text is not UTF-8 ({problem.reason})") from None
    head, *paragraphs = re.split(r"(?m)^Tree=\d+$", text.replace("\r\n", "\n").partition("\nend of trees")[0])
    header = _parse_lines(head)
    version = header.get("version")
    if version not in _VERSIONS:
        remedy = "save the model with LightGBM 2.1 or newer"
        raise InvalidContent(f"its LightGBM version is {short(version)}, this reads {', '.join(_VERSIONS)}", remedy)
    n_outputs = parse_count(header.get("num_tree_per_iteration"), "num_tree_per_iteration", MAX_CLASSES)
    link = _parse_link(header, n_outputs)
    if "tree_sizes" in header and len(header["tree_sizes"].split()) != len(paragraphs):
        declared = len(header["tree_sizes"].split())
        raise InvalidContent(f"it has {len(paragraphs)} trees and declares {declared}: it is truncated")
    if len(paragraphs) % n_outputs:
        raise InvalidContent(f"it has {len(paragraphs)} trees, expected a multiple of {n_outputs}: it is truncated")
    names = tuple(header.get("feature_names", "").split())
    n_features = parse_count(header.get("max_feature_idx"), "max_feature_idx", 2**31 - 3) + 1
    trees = [_parse_tree(_parse_lines(paragraph), number) for number, paragraph in enumerate(paragraphs)]
    n_classes = 2 if link.kind == "sigmoid" else n_outputs
    if classes is not None and len(classes) == 1:  # scikit-learn's interface, trained on one class
        return _constant(classes, n_features, names, version)
    nodes = join_trees(trees)
    return TreeEnsemble(
        **nodes,
        output=np.tile(np.arange(n_outputs, dtype=np.int32), len(trees) // n_outputs),
        base=np.zeros(n_outputs),
        divisor=float(len(trees) // n_outputs) if "average_output" in header else 1.0,
        link=link,
        single_records=False,
        single_sums=False,
        accepts_missing=True,
        classes=np.arange(n_classes) if classes is None else np.asarray(classes),
        n_features=n_features,
        feature_names=names,
        categories=_pandas_categories(text, header, nodes),
        min_category=float(np.nextafter(-1, 0)),  # LightGBM truncates -0.5 to 0
        source=f"LightGBM text {version}",
    )


def _parse_lines(text: str) -> dict[str, str]:
    """Return the ``name=value`` lines, and lines without ``=`` as names without value."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.strip().partition("=")
        if name in fields and name:
            raise InvalidContent(f"it has {short(name)} twice")
        fields[name] = value
    return fields


def _parse_link(header: Mapping[str, str], n_outputs: int) -> Link:
    name, *options = header.get("objective", "").split() or [""]
    values = dict(option.split(":", 1) for option in options if ":" in option)
    if name not in ("binary", "multiclass", "multiclassova"):
        remedy = "train with the objective binary, multiclass or multiclassova"
        found = short(name) if name else "a custom function"
        raise InvalidContent(f"its objective is {found}, for which no probabilities are known", remedy)
    expected = 1 if name == "binary" else parse_count(header.get("num_class"), "num_class", MAX_CLASSES)
    if n_outputs != expected or n_outputs < 1:
        raise InvalidContent(f"it has {n_outputs} trees per iteration, expected {expected}")
    if name == "multiclass":
        return Link("softmax")
    try:
        scale = float(values.get("sigmoid", "1"))
    except ValueError:
        raise InvalidContent(f"its sigmoid is {short(values['sigmoid'])}") from None
    return Link("sigmoid" if name == "binary" else "one_vs_all", scale=scale)


def _parse_tree(fields: Mapping[str, str], number: int) -> ImportedTree:
    if fields.get("is_linear", "0") != "0":
        raise InvalidContent(f"tree {number} has linear leaves", "train with linear_tree=False")
    n_leaves = parse_count(fields.get("num_leaves"), "num_leaves", _MAX_LEAVES)
    if n_leaves < 1:
        raise InvalidContent(f"tree {number} has no leaves")
    n_splits = n_leaves - 1
    values = _numbers(fields, "leaf_value", n_leaves, float)
    if n_splits == 0:
        return single_leaf(values)
    decision = _numbers(fields, "decision_type", n_splits, int)
    left, right = (_numbers(fields, side, n_splits, int) for side in ("left_child", "right_child"))
    children = [np.where(side < 0, n_splits + ~side, side) for side in (left, right)]
    missing = (decision >> _MISSING_SHIFT) & 3
    categorical = (decision & _CATEGORICAL) != 0
    if (decision < 0).any() or (decision >= 16).any() or (missing > _MISSING_NAN).any():
        raise InvalidContent(f"tree {number} has decision_type {decision.max()}, allowed are kinds of missing up to 2")
    threshold = _numbers(fields, "threshold", n_splits, float)
    compared = skip_zero(threshold)
    default_left = (decision & _DEFAULT_LEFT) != 0
    # Without missing values, NaN is compared as 0. Among categories it is in no set.
    missing_left = np.where(missing == _MISSING_NONE, compared >= 0, default_left) & ~categorical
    leaf = np.zeros(n_leaves)
    return ImportedTree(
        feature=np.concatenate([_numbers(fields, "split_feature", n_splits, int), np.full(n_leaves, -1)]),
        threshold=np.concatenate([compared, leaf]),
        left=np.concatenate([children[0], np.full(n_leaves, -1)]),
        right=np.concatenate([children[1], np.full(n_leaves, -1)]),
        missing_left=np.concatenate([missing_left, leaf > 0]),
        zero_missing=np.concatenate([(missing == _MISSING_ZERO) & ~categorical, leaf > 0]),
        value=np.concatenate([np.zeros(n_splits), values])[:, None],
        cover=np.concatenate([np.zeros(n_splits), _cover(fields, n_leaves)]),
        category_words=dict(_category_words(fields, np.flatnonzero(categorical), threshold)),
    )


def _cover(fields: Mapping[str, str], n_leaves: int) -> NDArray[np.float64]:
    """Return the training records of each leaf; their weights in files without counts; otherwise 1."""
    for name in ("leaf_count", "leaf_weight"):
        if fields.get(name, "").strip():
            return _numbers(fields, name, n_leaves, float)
    return np.ones(n_leaves)


def _category_words(
    fields: Mapping[str, str], splits: NDArray[np.intp], threshold: NDArray[np.float64]
) -> Iterator[tuple[int, NDArray[np.uint32]]]:
    """Yield the bits of each split on categories; its threshold is the number of its set."""
    if not len(splits):
        return
    bounds = np.array(_split(fields, "cat_boundaries", int))
    words = np.array(_split(fields, "cat_threshold", int))
    valid = len(bounds) and bounds[0] == 0 and bounds[-1] == len(words) and (np.diff(bounds) >= 0).all()
    if not valid or (words < 0).any() or (words >= 2**32).any():
        raise InvalidContent("its cat_boundaries and cat_threshold do not belong together")
    for split in splits.tolist():
        number = threshold[split]
        if not (0 <= number < len(bounds) - 1 and number == int(number)):
            raise InvalidContent(f"a split uses the set of categories {number}, it has {len(bounds) - 1}")
        yield split, words[bounds[int(number)] : bounds[int(number) + 1]].astype(np.uint32)


def _split(fields: Mapping[str, str], name: str, kind: type) -> list[Any]:
    parts = fields.get(name, "").split()
    try:
        if any(len(part) > 40 or "_" in part for part in parts):
            raise ValueError
        return [kind(part) for part in parts]
    except ValueError:
        raise InvalidContent(f"{name} is {short(fields[name])} instead of numbers") from None


def _numbers(fields: Mapping[str, str], name: str, size: int, kind: type) -> NDArray[Any]:
    numbers = _split(fields, name, kind)
    if len(numbers) != size:
        raise InvalidContent(f"{name} has {len(numbers)} numbers, expected {size}")
    if kind is int and any(abs(number) > 2**31 for number in numbers):
        raise InvalidContent(f"{name} has {max(numbers, key=abs)}, which is too large")
    return np.array(numbers, np.int64 if kind is int else np.float64)


def _pandas_categories(
    text: str, header: Mapping[str, str], nodes: Mapping[str, NDArray[Any]]
) -> dict[int, NDArray[np.float64]]:
    """Return the values behind category numbers, if the model was trained on a data frame with categories."""
    _, found, line = text.rpartition("\npandas_categorical:")
    columns = parse_json(line.strip().encode(), 4) if found and line.strip() else None
    if not columns:
        return {}
    infos = header.get("feature_infos", "").split()
    features = [number for number, info in enumerate(infos) if not info.startswith("[") and info != "none"]
    remedy = "train on numbers with categorical_feature= instead of a data frame with categories"
    if type(columns) is not list or len(columns) != len(features):
        raise InvalidContent(f"which of its columns are categories cannot be told ({short(columns)})", remedy)
    used = set(nodes["feature"][nodes["category_set"] >= 0].tolist())
    for feature, values in zip(features, columns, strict=True):
        numeric = type(values) is list and all(isinstance(value, (int, float)) for value in values)
        if feature in used and not numeric:
            raise InvalidContent(f"feature {feature} has categories that are not numbers, {short(values)}", remedy)
    return {feature: np.array(columns[features.index(feature)], np.float64) for feature in sorted(used & set(features))}


def _constant(classes: NDArray[Any], n_features: int, names: tuple[str, ...], version: str) -> TreeEnsemble:
    return TreeEnsemble(
        **join_trees([single_leaf(np.ones(1))]),
        output=np.zeros(1, np.int32),
        base=np.zeros(1),
        divisor=1.0,
        link=Link("mean"),
        single_records=False,
        single_sums=False,
        accepts_missing=True,
        classes=np.asarray(classes),
        n_features=n_features,
        feature_names=names,
        categories={},
        min_category=0.0,
        source=f"LightGBM text {version}",
    )
