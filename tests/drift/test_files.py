"""Models that are loaded equal those that were saved, and damaged files are rejected."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from anystream import load
from anystream.bayes_tree import BayesTreeClassifier
from anystream.drift import WCEA, DynamicWeightedMajority, GaussianNaiveBayes, OnlineTree2, ResetOnDrift, SEAEnsemble
from anystream.graph import KAOGINCClassifier
from anystream.model_file import ModelFileError, read_model, write_model
from anystream.streams import SEA, Sine

MODELS = [
    GaussianNaiveBayes(smoothing=1.5),
    SEAEnsemble(chunk_size=40),
    SEAEnsemble.street_kim(capacity=2, chunk_size=40),
    DynamicWeightedMajority(),
    DynamicWeightedMajority(BayesTreeClassifier(n_jobs=1), max_experts=3),
    WCEA(chunk_size=40),
    WCEA(DecisionTreeClassifier(max_depth=2, class_weight=None), chunk_size=40),
    WCEA(GaussianNaiveBayes(), chunk_size=40),
    WCEA(BayesTreeClassifier(n_jobs=1), chunk_size=60, folds=2),
    WCEA(KAOGINCClassifier(k_floors=(0.0, 0.3), n_jobs=1), chunk_size=60, folds=2),
    SEAEnsemble(WCEA(GaussianNaiveBayes(), chunk_size=20), chunk_size=50),
    OnlineTree2(review_every=30),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def names(y):
    return np.array(["no", "yes"])[y]


@each_model
@pytest.mark.parametrize("mmap", [False, True], ids=["read", "mapped"])
@pytest.mark.parametrize("n", [7, 250], ids=["first chunk pending", "several chunks"])
def test_a_loaded_model_classifies_and_learns_like_the_saved_one(model, mmap, n, tmp_path):
    stream = Sine(concepts=("sine1", "sine1_reversed"), drifts=(150,), seed=4)
    original = model.clone().partial_fit(stream.take(n)[0], names(stream.take(n)[1]))
    original.save(tmp_path / "model", notes={"unit": "mm"})
    twin = load(tmp_path / "model", mmap=mmap)
    assert repr(twin) == repr(original)
    X, y = stream.take(130, start=n)
    assert_array_equal(twin.predict_proba(X), original.predict_proba(X))
    assert_array_equal(twin.query(X[0]).refine(5).proba, original.query(X[0]).refine(5).proba)
    for each in (twin, original):
        each.partial_fit(X, np.where(X[:, 0] > 0.9, "new", names(y)))
    assert_array_equal(twin.classes_, original.classes_)
    assert_array_equal(twin.predict_proba(X), original.predict_proba(X))


@pytest.mark.parametrize(
    "model", [SEAEnsemble(chunk_size=40), WCEA(chunk_size=40)], ids=lambda model: type(model).__name__
)
@pytest.mark.parametrize("label_of_missing", [0, 1])
def test_trees_that_split_missing_values_off_are_restored(model, label_of_missing, tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 2))
    missing = np.arange(200) % 3 == 0
    X[missing, 0] = np.nan  # the best split: missing or not, at an infinite threshold
    original = model.clone().fit(X, np.where(missing, label_of_missing, 1 - label_of_missing))
    members = original.members_ if isinstance(original, SEAEnsemble) else original.committee_.members
    assert any(np.isinf(member.tree.threshold).any() for member in members)
    original.save(tmp_path / "model")
    twin = load(tmp_path / "model")
    assert_array_equal(twin.predict_proba(X), original.predict_proba(X))


@each_model
def test_features_that_appeared_late_are_restored(model, tmp_path):
    if not model.__sklearn_tags__().input_tags.allow_nan:
        pytest.skip("its members do not accept missing values")
    original = model.clone()
    random = np.random.default_rng(3)
    for i in range(150):
        x = dict(zip("abc" if i > 60 else "ab", random.random(3).tolist(), strict=False))
        original.learn_one(x, bool(x["a"] > 0.5))
    original.save(tmp_path / "model")
    twin = load(tmp_path / "model")
    assert list(twin.columns_) == ["a", "b", "c"]
    for x in ({"a": 0.2, "c": 0.1}, {"a": 0.7, "b": 0.4, "c": 0.8}):
        assert twin.predict_proba_one(x) == original.predict_proba_one(x)
        for each in (twin, original):
            each.learn_one(x, y=True)
        assert twin.predict_proba_one(x) == original.predict_proba_one(x)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (WCEA(LogisticRegression()), "no LogisticRegression.*pickle the model"),
        (SEAEnsemble(DecisionTreeClassifier(class_weight={0: 2.0})), "class_weight.*pickle the model"),
        (WCEA(ResetOnDrift()), "no ResetOnDrift.*pickle the model"),
        (WCEA(WCEA(ResetOnDrift())), "no ResetOnDrift.*pickle the model"),
    ],
    ids=["estimator of scikit-learn", "parameter", "detector", "nested"],
)
def test_the_error_about_a_model_that_a_file_cannot_store_tells_what_to_do(model, message, tmp_path):
    model.fit(*SEA(seed=1).take(60))
    with pytest.raises(TypeError, match=message):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def damage(path, change):
    """Write the file again with changed arrays or metadata and correct checksums."""
    file = read_model(path, mmap=False)
    metadata, arrays = json.loads(json.dumps(file.metadata)), {name: a.copy() for name, a in file.arrays.items()}
    change(metadata, arrays)
    write_model(path, kind=file.kind, version=file.version, metadata=metadata, arrays=arrays)


def set_array(name, index, value):
    def change(metadata, arrays):
        arrays[name][index] = value

    return change


def set_metadata(*path, value):
    def change(metadata, arrays):
        for key in path[:-1]:
            metadata = metadata[key]
        metadata[path[-1]] = value

    return change


def drop_array(name):
    return lambda metadata, arrays: arrays.pop(name)


DAMAGES = [
    (WCEA(chunk_size=40), set_array("0.left", 0, 0)),  # a cycle
    (WCEA(chunk_size=40), set_array("0.feature", 0, 7)),
    (WCEA(chunk_size=40), set_array("0.shares", 0, 0.0)),
    (WCEA(chunk_size=40), set_array("0.right", 0, 10_000)),
    (WCEA(chunk_size=40), set_array("weights", 0, np.nan)),
    (WCEA(chunk_size=40), set_array("pending_records", (0, 0), np.inf)),
    (WCEA(chunk_size=40), set_metadata("members", 0, "kind", value="python")),
    (WCEA(chunk_size=40), set_metadata("members", 0, "version", value="1")),
    (WCEA(chunk_size=40), set_metadata("members", 0, "metadata", "n_features", value=3_000)),
    (WCEA(chunk_size=40), set_metadata("parameters", "chunk_size", value=-1)),
    (WCEA(chunk_size=40), set_metadata("parameters", "estimator", value={"kind": "os.system", "parameters": {}})),
    (WCEA(chunk_size=40), set_metadata("parameters", "estimator", value="a")),
    (WCEA(chunk_size=40), set_metadata("parameters", "estimator", value={"kind": 5, "parameters": {}})),
    (WCEA(chunk_size=40), set_array("newest_records", (0, 0), np.inf)),
    (WCEA(chunk_size=40), set_metadata("members", value={})),
    (WCEA(chunk_size=40), set_metadata("parameters", "estimator", value={"kind": "kaoginc", "parameters": 1})),
    (
        WCEA(KAOGINCClassifier(), chunk_size=40),
        set_metadata("parameters", "estimator", "parameters", "pruning", value="twice"),
    ),
    (
        WCEA(DecisionTreeClassifier(), chunk_size=40),
        set_metadata("parameters", "estimator", "parameters", "criterion", value="luck"),
    ),
    (WCEA(chunk_size=40), set_metadata("parameters", "extra", value=1)),
    (WCEA(chunk_size=40), set_metadata("parameters", "capacity", value=1)),
    (WCEA(chunk_size=40), set_metadata("classes", "values", value=[0])),
    (WCEA(chunk_size=40), set_metadata("n_chunks", value=-1)),
    (WCEA(chunk_size=40), drop_array("0.left")),
    (WCEA(chunk_size=40), drop_array("weights")),
    (WCEA(chunk_size=40), lambda metadata, arrays: arrays.update({"99.left": np.zeros(1)})),
    (WCEA(GaussianNaiveBayes(), chunk_size=40), set_array("0.count", slice(None), 0.0)),
    (WCEA(GaussianNaiveBayes(), chunk_size=40), set_array("0.scatter", (0, 0), -1.0)),
    (SEAEnsemble(chunk_size=40), set_metadata("n_candidates", value=2)),
    (DynamicWeightedMajority(), set_array("weights", 0, 2.0)),
    (DynamicWeightedMajority(), set_array("weights", slice(None), 0.0)),
    (DynamicWeightedMajority(), set_metadata("parameters", "max_experts", value=0)),
    (GaussianNaiveBayes(), set_array("observed", (0, 0), 1e9)),
    (OnlineTree2(), set_metadata("n_records", value=2**70)),
    (OnlineTree2(), set_array("left", 0, 0)),
    (OnlineTree2(), set_array("feature", 0, 99)),
    (OnlineTree2(), set_array("labels", 0, 5)),
    (OnlineTree2(), set_array("records", (0, 0), np.inf)),
    (OnlineTree2(), set_array("first_record", -1, 1)),
    (OnlineTree2(), set_metadata("parameters", "max_window", value=8)),
]


@pytest.mark.parametrize(("model", "change"), DAMAGES)
def test_a_damaged_file_is_rejected(model, change, tmp_path):
    model.clone().partial_fit(*SEA(seed=2).take(300)).save(tmp_path / "model")
    load(tmp_path / "model")
    damage(tmp_path / "model", change)
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")


@pytest.mark.parametrize("value", ["a", 7, [1]])
def test_the_error_about_an_invalid_estimator_names_the_file_and_the_value(value, tmp_path):
    WCEA(chunk_size=40).fit(*SEA(seed=2).take(100)).save(tmp_path / "model")
    damage(tmp_path / "model", set_metadata("parameters", "estimator", value=value))
    with pytest.raises(
        ModelFileError, match=r"model: the parameters are not those of a WCEA: .* is not a scikit-learn"
    ):
        load(tmp_path / "model")
