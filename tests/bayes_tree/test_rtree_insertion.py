"""With construction="guttman" a Bayes tree learns as an R-tree does: least enlargement and quadratic splits."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream import load
from bayes_tree.blobs import blobs
from bayes_tree.plain import plain
from bayes_tree.structure import children_and_roots
from reference.guttman import RTree, in_class_units

NOTHING = np.iinfo(np.int32).min


def nested_trees(model):
    """Return the tree of every class as nested lists of record numbers."""
    children, roots = children_and_roots(model.forest_)

    def nested(entry):
        return ~entry if entry < 0 else [nested(child) for child in children[entry]]

    return [None if root == NOTHING else nested(root) for root in roots]


class Twin:
    """Plain R-trees, one per class, that hold the last `window` records in a ring."""

    def __init__(self, fanout, window, trees, points, labels):
        self.trees = [RTree.from_nested(fanout, tree) for tree in trees]
        self.points = dict(enumerate(points))
        self.labels = dict(enumerate(labels))
        self.window, self.learned = window, len(points)

    def learn(self, x, label):
        place = self.learned if self.window is None else self.learned % self.window
        if place in self.points:
            self.trees[self.labels[place]].remove(place)
        self.points[place], self.labels[place] = x, label
        own = [i for i in self.points if self.labels[i] == label]
        units = dict(zip(own, in_class_units(np.array([self.points[i] for i in own])), strict=True))
        self.trees[label].insert(place, units)
        self.learned += 1

    def nested(self):
        return [tree.nested() for tree in self.trees]


@st.composite
def streams(draw):
    """Draw records and labels: scattered, on a grid with many ties, constant in a dimension, incomplete."""
    n, d, n_classes = draw(st.integers(2, 70)), draw(st.integers(1, 5)), draw(st.integers(1, 2))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    X, y = random.normal(size=(n, d)), random.integers(n_classes, size=n)
    if draw(st.booleans()):
        X = np.round(X)
    if draw(st.booleans()):
        X *= 10.0 ** random.integers(-8, 8, size=d)
    if draw(st.booleans()):
        X[: n // 2, 0] = 3.25
    if draw(st.booleans()):
        X[random.random(X.shape) < 0.2] = np.nan
    y[0] = n_classes - 1
    return X, y, draw(st.sampled_from([3, 4, 7]))


def learn_all(model, X, y):
    for x, label in zip(X, y, strict=True):
        model.learn_one({j: value for j, value in enumerate(x.tolist()) if value == value}, int(label))


@given(stream=streams(), fitted=st.integers(0, 40), window=st.none() | st.integers(2, 40))
def test_records_are_inserted_as_into_an_r_tree(stream, fitted, window):
    X, y, fanout = stream
    classes = range(int(y.max()) + 1)
    fitted = min(fitted, len(X), window or len(X))
    model = plain(construction="guttman", fanout=fanout, window=window)
    if fitted and len(set(y[:fitted].tolist())) == len(classes):
        model.fit(X[:fitted], y[:fitted])
    else:
        fitted = 1
        model.partial_fit(X[:1], y[:1], classes=classes)
    twin = Twin(fanout, window, nested_trees(model), X[:fitted], y[:fitted].tolist())
    for i in range(fitted, len(X)):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        twin.learn(X[i], int(y[i]))
        assert nested_trees(model) == twin.nested()


@given(stream=streams(), cut=st.integers(1, 69), window=st.none() | st.integers(2, 40))
def test_a_saved_or_pickled_model_inserts_alike(stream, cut, window, tmp_path_factory):
    X, y, fanout = stream
    cut = min(cut, len(X) - 1)
    model = plain(construction="guttman", fanout=fanout, window=window)
    model.partial_fit(X[:cut], y[:cut], classes=range(int(y.max()) + 1))
    path = tmp_path_factory.mktemp("guttman") / "model.safetensors"
    model.save(path)
    twins = [load(path), load(path, mmap=True), pickle.loads(pickle.dumps(model)), model.snapshot()]
    for each in [model, *twins]:
        learn_all(each, X[cut:], y[cut:])
    assert all(nested_trees(each) == nested_trees(model) for each in twins)


def test_record_by_record_gives_the_tree_of_fit():
    X, y = blobs(400, d=3)
    fitted = plain(construction="guttman").fit(X, y)
    grown = plain(construction="guttman").partial_fit(X, y)
    assert nested_trees(fitted) == nested_trees(grown)


@pytest.mark.parametrize("construction", ["em_top_down", "hilbert", "goldberger"])
def test_the_other_constructions_insert_next_to_the_nearest_mean(construction):
    X, y = blobs(300, d=3)
    grown = [plain(construction=each).partial_fit(X, y) for each in (construction, "nearest_mean", "guttman")]
    trees = [nested_trees(model) for model in grown]
    assert trees[0] == trees[1]
    assert trees[0] != trees[2]
