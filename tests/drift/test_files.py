"""Models of the room come back from their files as they were, and damaged files are refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from anystream import load
from anystream.bayes_tree import BayesTreeClassifier
from anystream.drift import WCEA, DynamicWeightedMajority, GaussianNaiveBayes, OnlineTree2, ResetOnDrift, SEAEnsemble
from anystream.drift.flat_tree import FlatTree
from anystream.drift.members import new_member
from anystream.graph import KAOGINCClassifier
from anystream.model_file import ModelFileError, read_model, write_model
from anystream.streams import SEA, Sine
from tests.reference.drift_tree import leaf_of

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
@pytest.mark.parametrize("n", [7, 250], ids=["first chunk open", "several chunks"])
def test_a_model_comes_back_and_learns_on_alike(model, mmap, n, tmp_path):
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


@each_model
def test_features_that_joined_late_come_back(model, tmp_path):
    if not model.__sklearn_tags__().input_tags.allow_nan:
        pytest.skip("its members take no missing values")
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
    ("model", "error", "message"),
    [
        (WCEA(LogisticRegression()), TypeError, "no LogisticRegression.*pickle the model"),
        (SEAEnsemble(DecisionTreeClassifier(class_weight={0: 2.0})), TypeError, "class_weight.*pickle the model"),
        (WCEA(ResetOnDrift()), TypeError, "no ResetOnDrift.*pickle the model"),
        (ResetOnDrift(), AttributeError, "river's detectors; pickle the model"),
    ],
    ids=["foreign member", "foreign parameter", "detector inside", "detector"],
)
def test_what_a_file_cannot_hold_is_refused_with_a_remedy(model, error, message, tmp_path):
    model.fit(*SEA(seed=1).take(60))
    with pytest.raises(error, match=message):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def damaged(path, change):
    """The file again, with some of its arrays or metadata changed and all checksums right."""
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
    (WCEA(chunk_size=40), set_array("0.left", 0, 0)),  # a circle
    (WCEA(chunk_size=40), set_array("0.feature", 0, 7)),
    (WCEA(chunk_size=40), set_array("0.shares", 0, 0.0)),
    (WCEA(chunk_size=40), set_array("0.right", 0, 10_000)),
    (WCEA(chunk_size=40), set_array("weights", 0, np.nan)),
    (WCEA(chunk_size=40), set_array("pending_rows", (0, 0), np.inf)),
    (WCEA(chunk_size=40), set_metadata("parts", 0, "kind", value="python")),
    (WCEA(chunk_size=40), set_metadata("parts", 0, "version", value="1")),
    (WCEA(chunk_size=40), set_metadata("parts", 0, "metadata", "width", value=3_000)),
    (WCEA(chunk_size=40), set_metadata("parameters", "chunk_size", value=-1)),
    (WCEA(chunk_size=40), set_metadata("parameters", "estimator", value={"kind": "os.system", "parameters": {}})),
    (WCEA(chunk_size=40), set_metadata("parameters", "estimator", value="a")),
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
    (WCEA(chunk_size=40), set_metadata("learned", "n_chunks", value=-1)),
    (WCEA(chunk_size=40), drop_array("0.left")),
    (WCEA(chunk_size=40), drop_array("weights")),
    (WCEA(chunk_size=40), lambda metadata, arrays: arrays.update({"99.left": np.zeros(1)})),
    (WCEA(GaussianNaiveBayes(), chunk_size=40), set_array("0.count", slice(None), 0.0)),
    (WCEA(GaussianNaiveBayes(), chunk_size=40), set_array("0.scatter", (0, 0), -1.0)),
    (SEAEnsemble(chunk_size=40), set_metadata("learned", "n_waiting", value=2)),
    (DynamicWeightedMajority(), set_array("weights", 0, 2.0)),
    (DynamicWeightedMajority(), set_metadata("parameters", "max_experts", value=0)),
    (GaussianNaiveBayes(), set_array("observed", (0, 0), 1e9)),
    (OnlineTree2(), set_metadata("learned", "n_records", value=2**70)),
    (OnlineTree2(), set_array("left", 0, 0)),
    (OnlineTree2(), set_array("feature", 0, 99)),
    (OnlineTree2(), set_array("labels", 0, 5)),
    (OnlineTree2(), set_array("rows", (0, 0), np.inf)),
    (OnlineTree2(), set_array("first_record", -1, 1)),
    (OnlineTree2(), set_metadata("parameters", "max_window", value=8)),
]


@pytest.mark.parametrize(("model", "change"), DAMAGES)
def test_a_damaged_file_is_refused(model, change, tmp_path):
    model.clone().partial_fit(*SEA(seed=2).take(300)).save(tmp_path / "model")
    load(tmp_path / "model")
    damaged(tmp_path / "model", change)
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")


# -- the tree inside ------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([0.0, 0.2]))
def test_a_flat_tree_answers_as_scikit_learn_and_the_plain_walk_do(seed, n_classes, holes):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(80, 3)).round(1), random.integers(0, n_classes, 80)
    X[random.random(X.shape) < holes] = np.nan
    fitted = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X[:50], y[:50])
    tree = FlatTree.of(fitted, n_classes)
    assert tree.is_sound(3)
    assert_array_equal(tree.proba(X)[:, fitted.classes_], fitted.predict_proba(X))
    assert_array_equal(tree.proba(X), tree.shares[[leaf_of(tree, row) for row in X]])


def test_a_tree_that_leads_nowhere_is_not_sound():
    X, y = SEA(seed=1).take(60)
    member = new_member(DecisionTreeClassifier(max_depth=2), seed=0)
    member.fit(X, y.astype(np.int32), 2)
    tree = member.tree
    assert tree.is_sound(3)
    assert not tree.is_sound(int(tree.feature.max()))
    assert not replace(tree, right=np.where(tree.right < 0, -1, 0).astype(np.int32)).is_sound(3)
    assert not replace(tree, left=np.where(tree.left < 0, -1, 99).astype(np.int32)).is_sound(3)
