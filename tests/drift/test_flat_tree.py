"""Trees as arrays classify like scikit-learn's, and invalid ones are recognised."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.tree import DecisionTreeClassifier

from anystream.drift.flat_tree import FlatTree
from anystream.drift.tree_training import train_tree
from anystream.streams import SEA
from reference.drift_tree import find_leaf


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([0.0, 0.2]))
def test_a_flat_tree_classifies_like_scikit_learn_and_the_reference(seed, n_classes, missing):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(80, 3)).round(1), random.integers(0, n_classes, 80)
    X[random.random(X.shape) < missing] = np.nan
    fitted = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X[:50], y[:50])
    trained = train_tree(DecisionTreeClassifier(max_depth=6, random_state=0), X[:50], y[:50].astype(np.int32))
    tree = FlatTree.from_trained(trained, n_classes)
    assert tree.is_valid(3)
    assert_array_equal(tree.proba(X)[:, fitted.classes_], fitted.predict_proba(X))
    assert_array_equal(tree.proba(X), tree.shares[[find_leaf(tree, record) for record in X]])


def test_a_tree_whose_paths_do_not_end_in_leaves_is_invalid():
    X, y = SEA(seed=1).take(60)
    tree = FlatTree.from_trained(
        train_tree(DecisionTreeClassifier(max_depth=2, random_state=0), X, y.astype(np.int32)), 2
    )
    assert tree.is_valid(3)
    assert not tree.is_valid(int(tree.feature.max()))
    assert not replace(tree, right=np.where(tree.right < 0, -1, 0).astype(np.int32)).is_valid(3)
    assert not replace(tree, left=np.where(tree.left < 0, -1, 99).astype(np.int32)).is_valid(3)
