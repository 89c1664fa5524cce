"""An ensemble with a wrong index or number cannot be made."""

from dataclasses import replace

import numpy as np
import pytest
from random_ensembles import make_ensemble, random_tree

from anystream.forest import Link
from anystream.forest.joining import MAX_DEPTH, ImportedTree, join_trees, pack_categories
from anystream.model_file.errors import InvalidContent


@pytest.fixture
def ensemble():
    rng = np.random.default_rng(3)
    trees = [random_tree(rng, 6, 1) for _ in range(3)]
    return make_ensemble(trees, link=Link("softmax"), output=np.array([0, 1, 2], np.int32), n_outputs=3)


def changed(array, index, value):
    copy = array.copy()
    copy[index] = value
    return copy


BAD = {
    "feature beyond the last": ("feature", 0, 4, "array 'feature' has 4"),
    "feature of a leaf": ("feature", -1, 0, "a leaf with children"),
    "leaf feature in a split": ("feature", 0, -1, "a split without children"),
    "child beyond the last": ("left", 0, 33, "array 'left' has 33"),
    "child before its parent": ("left", 1, 0, "child before its parent"),
    "child in another tree": ("left", 0, 20, "child before its parent or in another tree"),
    "NaN threshold": ("threshold", 0, np.nan, "array 'threshold' has nan"),
    "infinite value": ("value", (0, 0), np.inf, "array 'value' has inf"),
    "NaN cover": ("cover", 0, np.nan, "array 'cover' has nan"),
    "negative cover": ("cover", 0, -1.0, "array 'cover' has -1"),
    "set beyond the last": ("category_set", 0, 1000, "array 'category_set' has 1000"),
    "output beyond the last": ("output", 0, 3, "array 'output' has 3"),
    "no output": ("output", 0, -1, "a tree without an output"),
    "infinite base": ("base", 0, np.inf, "array 'base' has inf"),
    "first node": ("first_node", 1, 0, "one after another"),
    "first word": ("first_word", 0, 1, "one after another|decreases"),
}


@pytest.mark.parametrize(("name", "index", "value", "message"), BAD.values(), ids=list(BAD))
def test_a_wrong_index_or_number_is_rejected(ensemble, name, index, value, message):
    with pytest.raises(InvalidContent, match=message):
        replace(ensemble, **{name: changed(getattr(ensemble, name), index, value)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": np.array([0, 1, 1])}, "its classes are"),
        ({"classes": np.arange(2)}, "array 'base' has shape|array 'output'"),
        ({"link": Link("sigmoid")}, "one score for 3 classes"),
        ({"link": Link("mean")}, "not shares of classes"),
        ({"divisor": 0.0}, "divided by 0.0"),
        ({"n_features": 2}, "array 'feature' has"),
        ({"feature_names": ("a",)}, "1 feature names for 4 features"),
        ({"categories": {3: np.array([1.0, 1.0])}}, "categories of feature 3"),
        ({"categories": {9: np.array([1.0])}}, "categories of feature 9"),
        ({"min_category": -1.0}, "lowest category"),
        ({"missing_left": np.zeros(3, bool)}, "array 'missing_left' has shape"),
        ({"left": np.zeros(33)}, "array 'left' has dtype"),
    ],
)
def test_fields_that_do_not_belong_together_are_rejected(ensemble, change, message):
    with pytest.raises(InvalidContent, match=message):
        replace(ensemble, **change)


def test_a_threshold_between_two_float32_numbers_is_rejected_where_records_are_rounded(ensemble):
    node = np.flatnonzero((ensemble.feature >= 0) & (ensemble.category_set < 0))[0]
    with pytest.raises(InvalidContent, match=r"threshold 0.1 is not a float32 number"):
        replace(ensemble, single_records=True, threshold=changed(ensemble.threshold, node, 0.1))


def test_a_feature_is_a_number_or_a_category(ensemble):
    node = np.flatnonzero(ensemble.category_set >= 0)[0]
    number = np.flatnonzero((ensemble.feature >= 0) & (ensemble.category_set < 0))[0]
    with pytest.raises(InvalidContent, match="is split as a number and as a category"):
        replace(ensemble, feature=changed(ensemble.feature, number, ensemble.feature[node]))


def chain(children):
    left, right = zip(*children, strict=True)
    n_nodes = len(left)
    zeros = np.zeros(n_nodes)
    return ImportedTree(
        feature=np.zeros(n_nodes, int),
        threshold=zeros,
        left=np.array(left),
        right=np.array(right),
        missing_left=zeros > 0,
        value=zeros[:, None],
        cover=zeros,
    )


@pytest.mark.parametrize(
    ("children", "message"),
    [
        ([(1, 2), (-1, -1)], "child 2 beyond"),
        ([(1, 2), (0, 2), (-1, -1)], "two parents"),
        ([(1, 1), (-1, -1)], "two parents"),
        ([(1, 2), (2, 3), (-1, -1), (-1, -1)], "two parents"),
        ([(1, -1), (-1, -1)], "one child"),
        ([(0, 0)], "two parents"),
        ([(2 * i + 1, 2 * i + 2) if i % 2 == 0 else (-1, -1) for i in range(5)], "beyond"),
    ],
)
def test_nodes_that_form_no_tree_are_rejected(children, message):
    with pytest.raises(InvalidContent, match=message):
        join_trees([chain(children)])


def test_a_tree_that_is_too_deep_is_rejected():
    splits = [(i + 1, MAX_DEPTH + 2 + i) for i in range(MAX_DEPTH + 1)]
    with pytest.raises(InvalidContent, match=f"more than {MAX_DEPTH} levels"):
        join_trees([chain([*splits, *[(-1, -1)] * (MAX_DEPTH + 2)])])


def test_nodes_that_no_path_reaches_are_left_out():
    arrays = join_trees([chain([(3, 4), (-1, -1), (1, 5), (-1, -1), (-1, -1), (-1, -1)])])
    assert arrays["left"].tolist() == [1, -1, -1]


@pytest.mark.parametrize("category", [-1, 2**31])
def test_categories_that_need_too_much_memory_are_rejected(category):
    with pytest.raises(InvalidContent, match=f"it has category {category}"):
        pack_categories(np.array([3, category]))
