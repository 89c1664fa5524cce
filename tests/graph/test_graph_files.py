"""Model files of KAOG and KAOGINC: models are restored completely, damaged files are rejected."""

import numpy as np
import pytest
from kaoginc_cases import QUERIES, assert_same_model, learn_stream, swapping_stream

from anystream import ModelFileError, load
from anystream.anytime.checks import three_clusters
from anystream.graph import KAOGClassifier, KAOGINCClassifier
from anystream.model_file import read_model, write_model


def save_changed(model, path, metadata=None, **arrays):
    """Save a model with some metadata and arrays replaced."""
    model.save(path)
    file = read_model(path)
    changed = file.metadata | (metadata or {})
    write_model(path, kind=file.kind, version=file.version, metadata=changed, arrays=file.arrays | arrays)


@pytest.mark.parametrize("mmap", [False, True], ids=["read", "mapped"])
def test_a_loaded_stream_model_continues_like_the_saved_one(tmp_path, mmap):
    X, y = swapping_stream(1300, 700).take(1300)
    model = KAOGINCClassifier(k_floors=(0, 0.5)).partial_fit(X[:750], y[:750])
    model.save(tmp_path / "model.safetensors")
    twin = load(tmp_path / "model.safetensors", mmap=mmap)
    assert_same_model(model, twin)
    assert twin.get_params() == model.get_params()
    model.partial_fit(X[750:], y[750:])
    twin.partial_fit(X[750:], y[750:])
    assert_same_model(model, twin)
    assert np.array_equal(model.predict_proba(QUERIES), twin.predict_proba(QUERIES))


def test_a_loaded_static_model_classifies_like_the_saved_one(tmp_path):
    X, y = three_clusters(200)
    model = KAOGClassifier(max_k=5).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    twin = load(tmp_path / "model.safetensors")
    assert twin.get_params() == model.get_params()
    assert np.array_equal(model.predict_proba(X, budget=9), twin.predict_proba(X, budget=9))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("owner", -1, "owner"),
        ("k", 0, "'k'"),
        ("purity", 2.0, "purity"),
        ("label", 9, "label"),
        ("points", np.inf, "infinite"),
        ("open_points", np.inf, "a record holds an infinite value"),
        ("view_errors", -1.0, "view_errors"),
        ("counted", -1, "counted"),
    ],
)
def test_invalid_values_are_rejected(tmp_path, name, value, message):
    model = learn_stream(KAOGINCClassifier(), swapping_stream(200, 100))
    array = model.to_file().arrays[name].copy()
    array.reshape(-1)[0] = value
    save_changed(model, tmp_path / "model.safetensors", **{name: array})
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "model.safetensors")


def test_a_static_model_without_components_is_rejected(tmp_path):
    model = KAOGClassifier().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    empty = {name: array[:0] for name, array in model.to_file().arrays.items()}
    save_changed(model, tmp_path / "model.safetensors", **empty)
    with pytest.raises(ModelFileError, match="has no components"):
        load(tmp_path / "model.safetensors")


def test_a_component_without_vertices_is_rejected(tmp_path):
    model = KAOGClassifier().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    owner = np.zeros_like(model.components_.owner)
    save_changed(model, tmp_path / "model.safetensors", owner=owner)
    with pytest.raises(ModelFileError, match="a component has no vertices"):
        load(tmp_path / "model.safetensors")


@pytest.mark.parametrize("floors", [[], [[0.0]], ["a"], {"a": 1}, None, 0.5])
def test_invalid_floors_in_a_file_are_rejected(tmp_path, floors):
    model = learn_stream(KAOGINCClassifier(), swapping_stream(200, 100))
    parameters = model.to_file().metadata["parameters"] | {"k_floors": floors}
    save_changed(model, tmp_path / "model.safetensors", {"parameters": parameters})
    with pytest.raises(ModelFileError, match=r"the parameters are not those of a KAOGINCClassifier.*k_floors"):
        load(tmp_path / "model.safetensors")


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_spread_beyond_the_range_of_floats_is_rejected(tmp_path):
    model = learn_stream(KAOGINCClassifier(), swapping_stream(50, 25))  # no full batch, so no moments yet
    squares = model.principal_.metric.squares + 1e10
    save_changed(model, tmp_path / "model.safetensors", metric_squares=squares)
    with pytest.raises(ModelFileError, match="not a positive number; restore"):
        load(tmp_path / "model.safetensors")


def test_a_neighbourhood_larger_than_the_graph_equals_that_of_all_vertices(tmp_path):
    X, y = three_clusters(30)
    model = KAOGINCClassifier(batch_size=15, k_floors=(0,), moments=False).fit(X, y)
    labels = []
    for k in (2**31 - 1, 30):
        save_changed(model, tmp_path / "model.safetensors", k=np.full_like(model.principal_.components.k, k))
        labels.append(load(tmp_path / "model.safetensors").predict(X))
    assert np.array_equal(*labels)
