"""Entries that margin maximisation moved stay moved while records pass elsewhere, and are moved again on request."""

import pickle

import numpy as np
import pytest

from bayes_tree.plain import plain
from bayes_tree.structure import children_and_roots, records_below

FAR = 8.0


def three_classes(n, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n)
    return random.normal(size=(n, 3)) + np.where(y[:, None] == 2, FAR, 1.2 * y[:, None]), y


def moved_entries(model, class_number):
    """Return mean and precision of every entry of a class that is moved, by the records below it."""
    forest, d = model.forest_, model.n_features_in_
    arrays, entries = forest.arrays(), forest.entries()
    heads = arrays["head"].astype(np.uint64)
    lanes_of = ((heads >> np.uint64(40)) & np.uint64(0xFF)).astype(int) * 4
    children, _ = children_and_roots(forest)
    found = {}
    for node, child, offset in zip(entries["node"], entries["child"], entries["offset"], strict=True):
        if child >= 0 and arrays["node_class"][node] == class_number and is_trained(arrays)[child]:
            rows = arrays["blob"][offset - np.arange(1, 2 * d + 3) * lanes_of[node]]
            found[tuple(sorted(records_below(children, child)))] = rows.tolist()
    lanes = -(-forest.classes // 8) * 8
    found["root"] = arrays["root_blob"].reshape(-1, lanes)[:-1, class_number].tolist()
    return found


def is_trained(arrays):
    return (arrays["head"] >> np.uint64(58) & np.uint64(1)).astype(bool)


def trained(model):
    """Return the number of entries that are moved."""
    return int(is_trained(model.forest_.arrays()).sum())


@pytest.mark.parametrize("construction", ["em_top_down", "guttman"])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("n", [400, 1500])
def test_entries_that_no_record_passes_stay_moved(construction, covariance, n):
    X, y = three_classes(n)
    parameters = {"construction": construction, "covariance": covariance}
    model = plain(margin_levels=2, **parameters).fit(X, y)
    before, at_first = moved_entries(model, 1), trained(model)
    assert len(before) > 3
    assert before["root"] != moved_entries(plain(**parameters).fit(X, y), 1)["root"]
    more, labels = three_classes(3000, seed=1)
    model.partial_fit(more[labels == 2][:600], labels[labels == 2][:600])  # every node has been refreshed by then
    assert moved_entries(model, 1) == before
    assert trained(model) < at_first  # some of class 2 are plain


def test_entries_beside_the_way_of_a_record_stay_moved_when_their_node_changes():
    X, y = three_classes(1500)
    model = plain(margin_levels=3).fit(X, y)
    n_trained = trained(model)
    model.partial_fit(X[:1], y[:1])
    assert n_trained - 4 <= trained(model) < n_trained  # at most one entry per level, and the root's
    twin = pickle.loads(pickle.dumps(model))
    for each in (model, twin):
        each.partial_fit(X[1:200], y[1:200])
    assert np.array_equal(model.predict_proba(X[:50], budget=20), twin.predict_proba(X[:50], budget=20))


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("window", [None, 1600])
def test_retraining_moves_the_entries_as_training_the_same_trees_does(covariance, window):
    X, y = three_classes(1500)
    more, labels = three_classes(300, seed=1)
    parameters = {"construction": "guttman", "covariance": covariance, "window": window}  # moved means move no record
    model = plain(margin_levels=2, **parameters).fit(X, y).partial_fit(more, labels)
    unmoved = plain(**parameters).fit(X, y).partial_fit(more, labels)
    lost = model.predict_proba(X, budget=2)
    assert model.retrain_margin() is model
    unmoved.forest_.maximise_margin(2, 1.0, 0.1)
    proba = model.predict_proba(X, budget=2)
    np.testing.assert_array_equal(proba, unmoved.predict_proba(X, budget=2))
    assert not np.array_equal(proba, lost)
    np.testing.assert_array_equal(model.retrain_margin().predict_proba(X, budget=2), proba)  # from the same start


def test_trees_without_margin_levels_have_nothing_to_train_again():
    X, y = three_classes(60)
    with pytest.raises(ValueError, match="margin_levels=0; fit with margin_levels=1 or more"):
        plain().fit(X, y).retrain_margin()


def test_a_model_that_starts_with_partial_fit_is_trained_on_request():
    X, y = three_classes(300)
    model = plain(margin_levels=1).partial_fit(X, y)
    assert trained(model) == 0
    assert trained(model.retrain_margin()) == 3
