"""Models of every kind: what was saved classifies and learns as before, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anystream import ModelFileError, load
from anystream.drift import GaussianNaiveBayes
from anystream.estimators.saving import ModelState
from anystream.model_file import write_model
from anystream.models import MODELS
from anystream.runtime.record_checks import RecordChecks

pytestmark = pytest.mark.filterwarnings("ignore:.*cannot be mapped:RuntimeWarning")

PARAMETERS = {
    "bayes-tree": [
        {"metric": None, "root_model": None, "bandwidth": "f0.1"},
        {"metric": "whiten", "root_model": 1.0, "bandwidth": "f0.1", "fanout": 3},
        {"covariance": 2, "metric": None, "root_model": None, "bandwidth": "f0.1"},
    ],
    "neighbors": [
        {},
        {"search": "inverted", "window": 40},
        {"metric": "gower", "k": 3},
        {"scaling": "standard", "trim": "auto"},
    ],
    "locust": [{"level_size": 8}],
    "locust-blocks": [{"block_size": 8}],
    "micro-clusters": [{"n_clusters": 6, "snapshot_every": 4, "choose_every": 8, "hold_back": 3}],
    "kaog": [{}],
    "kaoginc": [{"batch_size": 8}, {"batch_size": 50}],
    "forest": [{"n_estimators": 4}, {"base": "hist_gradient_boosting", "n_estimators": 2}],
    "naive-bayes": [{}],
    "sea-ensemble": [{"chunk_size": 10}],
    "dynamic-weighted-majority": [{"period": 5}],
    "wcea": [{"chunk_size": 10}],
    "online-tree": [{"min_window": 4, "max_window": 20, "test_every": 2}],
}
CASES = [(kind, parameters) for kind in MODELS for parameters in PARAMETERS[kind]]
BUDGETS = (0, 1, 3, 10, 10**6)
LABELS = {
    "int": np.array([-3, 0, 2**40]),
    "float": np.array([-1.0, 0.0, 1e15]),
    "text": np.array(["", "ü", "no"]),
    "bool": np.array([False, True]),
}


def draw_records(random, n, style, n_features, missing):
    """Records that are spread out, full of ties, or all the same; with some values missing if asked for."""
    if style == "spread":
        X = random.normal(size=(n, n_features))
    elif style == "ties":
        X = random.integers(0, 3, (n, n_features)).astype(float)
    else:
        X = np.ones((n, n_features))
    if missing:
        X[random.random(X.shape) < 0.2] = np.nan
    return X


def results(model, X):
    """All that a caller can see of the answers: probabilities, labels and steps, as bytes."""
    answers = [model.classify(X, budget=budget) for budget in BUDGETS]
    return [(answer.proba.tobytes(), answer.labels.tolist(), answer.steps.tolist()) for answer in answers]


@pytest.mark.parametrize(("kind", "parameters"), CASES, ids=[f"{kind}-{i}" for i, (kind, _) in enumerate(CASES)])
@given(
    seed=st.integers(0, 2**16),
    style=st.sampled_from(["spread", "ties", "constant"]),
    n_features=st.integers(1, 4),
    missing=st.booleans(),
    labels=st.sampled_from(sorted(LABELS)),
    mmap=st.booleans(),
)
@settings(max_examples=6)
def test_a_loaded_model_classifies_and_learns_as_the_saved_one(
    tmp_path_factory, kind, parameters, seed, style, n_features, missing, labels, mmap
):
    random = np.random.default_rng(seed)
    model = MODELS[kind].load_class()(**parameters)
    missing = missing and model.allows_missing()
    classes = LABELS[labels]

    def batch(n):
        y = random.integers(0, len(classes), n)
        y[: len(classes)] = np.arange(len(classes))
        X = draw_records(random, n, style, n_features, missing)
        if style == "spread":
            X[:, 0] += y
        return X, classes[y]

    learns = hasattr(model, "partial_fit")
    model.fit(*batch(40))
    if learns:
        model.partial_fit(*batch(25))
    path = tmp_path_factory.mktemp("saved") / "model.safetensors"
    model.save(path)
    twin = load(path, mmap=mmap)
    queries = draw_records(random, 12, style, n_features, missing)
    assert twin.classes_.tolist() == model.classes_.tolist()
    assert twin.classes_.dtype.kind == model.classes_.dtype.kind
    assert results(twin, queries) == results(model, queries)
    if learns:
        for n in (1, 3, 15):
            X, y = batch(max(n, len(classes)))
            model.partial_fit(X[-n:], y[-n:])
            twin.partial_fit(X[-n:], y[-n:])
        assert results(twin, queries) == results(model, queries)


def fitted(classes=("a", "b")):
    y = np.array(classes, dtype=object)[np.arange(20) % len(classes)]
    return GaussianNaiveBayes().fit(np.arange(20.0).reshape(-1, 1), y)


def test_a_model_that_could_not_be_loaded_again_is_not_saved(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    fitted().save(path)
    before = path.read_bytes()
    dump = GaussianNaiveBayes.dump_state

    def dump_nan(self):
        metadata, arrays = dump(self)
        return ModelState(metadata, {name: np.full_like(array, -7) for name, array in arrays.items()})

    monkeypatch.setattr(GaussianNaiveBayes, "dump_state", dump_nan)
    with pytest.raises(ModelFileError, match=r"model.safetensors: .*found when the file was read back; it was not"):
        fitted().save(path)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("classes", [("x" * 10_001, "y"), ("x" * 10**7, "y")])
def test_names_that_would_take_much_memory_are_not_saved(tmp_path, classes):
    with pytest.raises(ValueError, match=r"has 1\d* characters, allowed are 10000; use shorter texts"):
        fitted(classes).save(tmp_path / "model.safetensors")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["x" * 10**7, "y"], "has 10000000 characters, allowed are 10000; use shorter texts"),
        (
            [*map(str, range(50_000)), "x" * 9_999],
            "50001 texts of up to 9999 characters take more than",
        ),
    ],
)
@pytest.mark.parametrize("key", ["classes", "columns"])
def test_names_that_would_take_much_memory_are_not_loaded(tmp_path, names, message, key):
    path = tmp_path / "model.safetensors"
    content = fitted().to_file()
    metadata = content.metadata | {key: {"kind": "U", "values": names}}
    write_model(path, kind=content.kind, version=content.version, metadata=metadata, arrays=content.arrays)
    with pytest.raises(ModelFileError, match=message) as raised:
        load(path)
    assert len(str(raised.value)) < 500 + len(str(path))


def test_a_stream_teaches_no_label_that_a_file_cannot_store():
    checks = RecordChecks.from_model(fitted(), learns=True, max_text=10**6)
    assert checks.label_error("x" * 10_000) is None
    assert checks.label_error("x" * 10_001) == "the label has 10001 characters, allowed are 10000"
    assert checks.key_error("x" * 10_001) is None
