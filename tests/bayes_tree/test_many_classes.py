"""Bayes trees of many classes: around every size at which a field of eight bits would overflow."""

import pickle

import numpy as np
import pytest

from anystream import BayesTreeClassifier, load
from bayes_tree.plain import plain

SIZES = [1, 2, 63, 64, 65, 255, 256, 300, 511, 512, 767, 768, 1016, 1017, 5000]


def centres(n_classes):
    """Return one centre per class, far apart."""
    side = int(np.ceil(np.sqrt(n_classes)))
    number = np.arange(n_classes)
    return np.column_stack([number % side, number // side]).astype(float) * 100


def labelled(n_classes, per_class=2, seed=0):
    random = np.random.default_rng(seed)
    y = np.tile(np.arange(n_classes), per_class)
    return centres(n_classes)[y] + random.normal(size=(len(y), 2)), y


def some(n_classes):
    """Return at most 40 classes, the first and the last among them."""
    return np.unique(np.linspace(0, n_classes - 1, 40).astype(int))


@pytest.fixture(scope="module", params=SIZES)
def fitted(request):
    return request.param, plain().fit(*labelled(request.param))


def test_every_class_is_found(fitted):
    n_classes, model = fitted
    assert model.predict(centres(n_classes)[some(n_classes)]).tolist() == some(n_classes).tolist()


def test_records_with_a_missing_value_are_classified_by_the_others(fitted):
    n_classes, model = fitted
    asked = some(n_classes)
    queries = centres(n_classes)[asked]
    queries[:, 1] = np.nan
    found = centres(n_classes)[model.predict(queries)]
    assert np.array_equal(found[:, 0], queries[:, 0])


@pytest.mark.parametrize("how", ["load", "mmap", "pickle", "snapshot"])
def test_copies_classify_and_learn_alike(fitted, how, tmp_path):
    n_classes, model = fitted
    queries = np.vstack([centres(n_classes)[some(n_classes)], [[np.nan, 100.0]]])
    model.save(tmp_path / "m.safetensors")
    twin = {
        "load": lambda: load(tmp_path / "m.safetensors"),
        "mmap": lambda: load(tmp_path / "m.safetensors", mmap=True),
        "pickle": lambda: pickle.loads(pickle.dumps(model)),
        "snapshot": model.snapshot,
    }[how]()
    assert np.array_equal(twin.predict_proba(queries), model.predict_proba(queries))
    twin.partial_fit([[-500.0, -500.0]], [n_classes])
    assert twin.predict([[-500.0, -500.0], queries[-2]]).tolist() == [n_classes, n_classes - 1]


def test_queries_suspend_resume_and_have_bounds(fitted):
    n_classes, model = fitted
    model = model.snapshot().set_params(refine_for="certificate")
    query = model.query(centres(n_classes)[-1])
    query.refine(1)
    resumed = model.query(state=query.state).refine(10**9)
    assert resumed.label == n_classes - 1
    low, high = resumed.proba_bounds.T
    assert (low <= high).all()
    assert low[-1] == low.max()


def test_the_trees_can_be_inspected(fitted):
    n_classes, model = fitted
    assert model.tree_.describe().classes == n_classes


@pytest.mark.parametrize("n_classes", [70, 300, 1100])
def test_classes_that_appear_one_by_one_equal_classes_declared_at_once(n_classes):
    X, y = labelled(n_classes)
    at_once = BayesTreeClassifier().partial_fit(X, y)
    one_by_one = BayesTreeClassifier()
    for x, label in zip(X, y, strict=True):
        one_by_one.learn_one(dict(enumerate(x)), label)
    for label in range(n_classes, n_classes + 130):
        one_by_one.learn_one({0: -200.0 * (label - n_classes), 1: -500.0}, label)
    at_once.partial_fit([[-200.0 * i, -500.0] for i in range(130)], np.arange(n_classes, n_classes + 130))
    queries = np.vstack([X[:30], [[-200.0 * 129, -500.0], [np.nan, -500.0]]])
    assert np.array_equal(at_once.predict_proba(queries), one_by_one.predict_proba(queries))
    assert one_by_one.predict(queries[-2:-1]).tolist() == [n_classes + 129]


@pytest.mark.parametrize("n_classes", [300, 1100])
def test_covariances_margins_and_merging_work_with_many_classes(n_classes):
    X, y = labelled(n_classes, per_class=5)
    model = plain(margin_levels=1, covariance="full").fit(X, y)
    assert model.predict(centres(n_classes)[some(n_classes)]).tolist() == some(n_classes).tolist()
    half = len(X) // 2
    parts = [plain().fit(X[:half], y[:half]), plain().fit(X[half:], y[half:])]
    merged = BayesTreeClassifier.merge(parts)
    assert merged.predict(centres(n_classes)[some(n_classes)]).tolist() == some(n_classes).tolist()


def test_a_hundred_thousand_classes():
    n_classes = 100_000
    model = BayesTreeClassifier().fit(*labelled(n_classes, per_class=2))
    assert model.recipe_.metric is None, "choosing by held-out records would take hours"
    asked = some(n_classes)[::8]
    assert model.predict(centres(n_classes)[asked], budget=5).tolist() == asked.tolist()
    twin = pickle.loads(pickle.dumps(model)).partial_fit([[-50_000.0, -50_000.0]], [n_classes])
    assert twin.predict([[-50_000.0, -50_000.0]], budget=5).tolist() == [n_classes]
