"""Categories, missing values, rare classes and new labels in LOCUST."""

import numpy as np
import pytest
from locust_cases import FORMS, blobs
from sklearn.datasets import load_iris

from anystream.subspace import BlockLocustClassifier, LocustClassifier


@pytest.mark.parametrize("form", FORMS)
def test_categories_are_not_ordered(form):
    """Whether a category is even decides; neighbouring codes have nothing in common."""
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, 60, 4000), random.normal(size=4000)]).astype(float)
    y = X[:, 0].astype(int) % 2
    with_categories = form(categorical=[0]).fit(X[:3000], y[:3000])
    without = form().fit(X[:3000], y[:3000])
    assert with_categories.score(X[3000:], y[3000:]) > 0.95
    assert without.score(X[3000:], y[3000:]) < 0.75


def test_categories_can_be_named():
    model = LocustClassifier(categorical=["city"])
    for i in range(200):
        model.learn_one({"age": i % 7, "city": i % 5}, i % 5 in (1, 3))
    assert model.predict_one({"age": 3, "city": 1}) is True
    assert model.predict_one({"age": 3, "city": 2}) is False


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize("column", ["city", 4])
def test_a_categorical_column_that_does_not_exist_is_rejected(form, learn, column):
    model = form(categorical=[0, column])
    with pytest.raises(ValueError, match=f"categorical names {column!r}, which does not exist"):
        getattr(model, learn)(*blobs(50))
    assert not hasattr(model, "columns_")


@pytest.mark.parametrize("form", FORMS)
def test_a_category_that_is_not_a_whole_number_is_rejected_before_anything_changes(form):
    X, y = blobs(50)
    model = form(categorical=[1])
    with pytest.raises(ValueError, match="column 1 is categorical and holds"):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_feature_is_not_drawn(form):
    X, y = blobs(1500)
    model = form().fit(X, y)
    holes = X.copy()
    holes[:, 0] = np.nan
    assert model.score(holes, y) > 0.8
    trained_with_holes = form().fit(np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X), y)
    assert trained_with_holes.score(X, y) > 0.8


def test_a_rare_class_is_not_evicted():
    """Ten points of a class, then fifty thousand of another: the floor keeps two in every level."""
    random = np.random.default_rng(0)
    rare, common = random.normal(size=(10, 10)) + 8, random.normal(size=(50_000, 10))
    model = LocustClassifier().fit(np.vstack([rare, common]), ["rare"] * 10 + ["common"] * 50_000)
    assert (model.predict(random.normal(size=(50, 10)) + 8) == "rare").mean() > 0.9
    assert (model.predict(random.normal(size=(500, 10))) == "common").all()


@pytest.mark.parametrize("form", FORMS)
def test_new_labels_may_appear_at_any_time(form):
    X, y = blobs(900)
    model = form(block_size=900, build_within=0) if form is BlockLocustClassifier else form()
    model.partial_fit(X[y == 0], y[y == 0])
    for c in (1, 2):
        model.partial_fit(X[y == c], y[y == c])
    assert model.classes_.tolist() == [0, 1, 2]
    assert set(model.predict(X)) == {0, 1, 2}


@pytest.mark.parametrize("form", FORMS)
def test_scikit_learn_data_are_learned_well(form):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    model = form(significance=10.0) if form is BlockLocustClassifier else form()
    model.fit(X[order[:100]], y[order[:100]])
    assert model.score(X[order[100:]], y[order[100:]]) > 0.85
