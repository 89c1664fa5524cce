"""Model files of Bayes trees: intact ones give the same model, damaged ones raise an error and never crash."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream import BayesTreeClassifier, ModelFileError, load
from anystream.model_file import read_model, write_model


def labelled(n=120, d=3, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    return random.normal(size=(n, d)) + 2 * y[:, None], np.array(["low", "mid", "high"])[y]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    X, y = labelled()
    path = tmp_path_factory.mktemp("models") / "tree.safetensors"
    model = BayesTreeClassifier(budget=30, bandwidth="f0.1").fit(X, y)
    model.partial_fit(*labelled(40, seed=1))
    model.save(path)
    return model, path


@pytest.mark.parametrize("mmap", [False, True])
def test_a_loaded_model_classifies_and_learns_like_the_saved_one(saved, mmap):
    model, path = saved
    X, y = labelled(60, seed=2)
    twin = load(path, mmap=mmap)
    assert twin.get_params() == model.get_params()
    assert twin.classes_.tolist() == model.classes_.tolist()
    for budget in (0, 7, 500):
        assert np.array_equal(twin.predict_proba(X, budget=budget), model.predict_proba(X, budget=budget))
    twin.partial_fit(X, y)
    expected = load(path).partial_fit(X, y)
    assert np.array_equal(twin.predict_proba(X), expected.predict_proba(X))
    assert np.array_equal(load(path).predict_proba(X), model.predict_proba(X)), "learning must not change the file"


def test_a_mapped_model_holds_little_more_memory_than_its_whole_numbers(saved):
    model, path = saved
    numbers = sum(array.nbytes for array in model.forest_.arrays().values() if array.dtype.kind in "iu")
    assert load(path, mmap=True).memory_bytes_ < numbers + 4000 < model.memory_bytes_  # 4000: the object itself


def test_names_of_columns_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = labelled()
    model = BayesTreeClassifier().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    model.save(tmp_path / "m.safetensors")
    twin = load(tmp_path / "m.safetensors")
    assert twin.feature_names_in_.tolist() == ["a", "b", "c"]
    assert twin.predict_one({"a": 0.0, "b": 0.0, "c": 0.0}) == model.predict_one({"a": 0.0, "b": 0.0, "c": 0.0})


def rewrite(path, target, change):
    """Write the same file with some values changed and correct checksums; return its path."""
    file = read_model(path, mmap=False)
    arrays = {name: array.copy() for name, array in file.arrays.items()}
    metadata = json.loads(json.dumps(file.metadata))
    kind = change(arrays, metadata) or file.kind
    write_model(target, kind=kind, version=file.version, metadata=metadata, arrays=arrays)
    return target


DAMAGES = {
    "a node outside": lambda a, m: a["head"].__setitem__(0, 2**39),
    "a node without lanes": lambda a, m: a["head"].__setitem__(0, 0),
    "a root outside": lambda a, m: a["class_root"].__setitem__(0, 10**6),
    "a record of no class": lambda a, m: a["point_class"].__setitem__(5, 77),
    "a class too many": lambda a, m: m["classes"]["values"].append("extra"),
    "a class twice": lambda a, m: m["classes"].__setitem__("values", ["low", "low", "mid"]),
    "a scale of zero": lambda a, m: a["scale"].__setitem__(0, 0.0),
    "a shift of NaN": lambda a, m: a["shift"].__setitem__(0, np.nan),
    "an unknown field of the recipe": lambda a, m: m["recipe"].__setitem__("colour", "red"),
    "an invalid field of the recipe": lambda a, m: m["recipe"].__setitem__("fanout", 1),
    "an undecided recipe": lambda a, m: m["recipe"].__setitem__("metric", "auto"),
    "a recipe without decision": lambda a, m: m["recipe"].pop("decision") and None,
    "a recipe without root weight": lambda a, m: m["recipe"].pop("root_weight") and None,
    "a metric without arrays": lambda a, m: m["recipe"].__setitem__("metric", "whiten"),
    "no recipe": lambda a, m: m.pop("recipe") and None,
    "an unknown parameter": lambda a, m: m["parameters"].__setitem__("colour", "red"),
    "an invalid parameter": lambda a, m: m["parameters"].__setitem__("fanout", 1),
    "missing parameters": lambda a, m: m.pop("parameters") and None,
    "an array too few": lambda a, m: a.pop("node_mean") is None or None,
    "an array too many": lambda a, m: a.__setitem__("surprise", np.zeros(3)),
    "a wrong shape": lambda a, m: a.__setitem__("shift", np.zeros(9)),
    "a wrong type": lambda a, m: a.__setitem__("shift", np.zeros(3, np.float32)),
    "an unknown kind": lambda a, m: "crystal-ball",
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("mmap", [False, True])
def test_a_damaged_file_raises_an_error_that_names_it(saved, tmp_path, damage, mmap):
    path = rewrite(saved[1], tmp_path / "damaged.safetensors", DAMAGES[damage])
    if mmap and damage == "a record of no class":
        with pytest.raises(ModelFileError, match="5 is of class 77"):  # found before the model learns
            load(path, mmap=True).partial_fit(*labelled(5))
        return
    with pytest.raises(ModelFileError, match=re.escape(str(path))):
        load(path, mmap=mmap)


@pytest.fixture(scope="module")
def child_offsets(saved):
    """Return the positions of all children in the array `blob` of the saved model."""
    return load(saved[1]).forest_.entries()["offset"]


@given(which=st.integers(0, 10**6), child=st.integers(-(2**31), 2**31 - 1))
def test_an_invalid_child_of_a_node_raises_an_error(saved, child_offsets, tmp_path_factory, which, child):
    def damage(arrays, metadata):
        arrays["blob"].view(np.int32)[child_offsets[which % len(child_offsets)]] = child

    target = tmp_path_factory.mktemp("invalid") / "damaged.safetensors"
    rewrite(saved[1], target, damage)
    X, y = labelled(30, seed=3)
    for mmap in (True, False):
        try:
            model = load(target, mmap=mmap)
            proba = model.predict_proba(X, budget=10**6)
            assert np.isfinite(proba).all()
            model.partial_fit(X, y)
        except ModelFileError as error:
            assert "damaged" in str(error)


def test_a_tree_with_a_cycle_ends_with_an_error(saved, child_offsets, tmp_path):
    def damage(arrays, metadata):
        blob = arrays["blob"].view(np.int32)
        inner = child_offsets[blob[child_offsets] >= 0]
        blob[inner] = 0

    path = rewrite(saved[1], tmp_path / "cycle.safetensors", damage)
    with pytest.raises(ModelFileError, match=r"cycle|two places"):
        load(path, mmap=True).predict(labelled(5)[0], budget=10**9)
    with pytest.raises(ModelFileError):
        load(path)


def test_column_names_that_a_file_cannot_store_raise_an_error_before_writing(tmp_path):
    model = BayesTreeClassifier()
    model.learn_one({("a", "pair"): 1.0}, "x")
    with pytest.raises(TypeError, match="a model file cannot store the label"):
        model.save(tmp_path / "m.safetensors")
    assert not (tmp_path / "m.safetensors").exists()
