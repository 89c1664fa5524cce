"""Every classifier holds few and many classes: it learns, classifies with missing values, is saved and loaded."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from anystream import load
from anystream.models import MODELS

SIZES = [1, 2, 255, 256, 257, 1017, 100_000]
SLOW = {"dynamic-weighted-majority": 1017}  # classes up to which a test is quick


def records_of(n_classes, n_present):
    """Return records far apart by class; of many classes, `n_present` have records, the last one among them."""
    present = np.unique(np.linspace(0, n_classes - 1, n_present).astype(int))
    y = np.tile(present, 4)
    place = np.argsort(np.argsort(present))[np.searchsorted(present, y)]
    noise = np.random.default_rng(0).normal(scale=0.01, size=(len(y), 3))
    X = np.column_stack([place % 8, place // 8 % 8, place // 64]) * 10.0 + noise
    return X, y


def learn(model, X, y, n_classes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn: many classes look like a regression
        if hasattr(model, "partial_fit"):
            return model.partial_fit(X, y, classes=np.arange(n_classes))
        return model.fit(X, y)


@pytest.mark.parametrize("n_classes", SIZES)
@pytest.mark.parametrize("kind", MODELS)
def test_any_number_of_classes_is_learned_saved_and_loaded(kind, n_classes, tmp_path):
    if n_classes > SLOW.get(kind, n_classes):
        pytest.skip("each expert classifies each record with all classes before it learns it")
    X, y = records_of(n_classes, 24)
    model = learn(MODELS[kind].load_class()(), X, y, n_classes)
    queries = X[:6].copy()
    queries[::2, 2] = np.nan
    proba = model.predict_proba(queries)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert proba.min() >= 0.0
    model.save(tmp_path / "model")
    twin = load(tmp_path / "model")
    assert_array_equal(twin.predict_proba(queries), proba)
    if hasattr(model, "partial_fit"):
        for each in (model, twin):
            each.partial_fit(X[:3], [0, n_classes + 5, n_classes + 5])
            assert each.classes_[-1] == n_classes + 5
        assert_array_equal(twin.predict_proba(queries), model.predict_proba(queries))
        assert model.predict_proba(queries).shape == (len(queries), n_classes + 1)
