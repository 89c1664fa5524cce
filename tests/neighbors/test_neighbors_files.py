"""Model files: every metric is kept, and damaged files raise ModelFileError."""

import pickle

import numpy as np
import pytest
from neighbors_cases import make_stream

from anystream import load
from anystream.model_file import ModelFileError, write_model
from anystream.neighbors import AnytimeNeighborsClassifier


@pytest.mark.parametrize("metric", ["euclidean", "gower", "dtw", "rotation", "edit", "mahalanobis"])
@pytest.mark.parametrize("mmap", [False, True])
def test_files_and_pickles_keep_every_metric(metric, mmap, tmp_path):
    X, y = make_stream(4, 40, d=6)
    texts = ["".join("abcdefgh"[int(abs(v)) % 8] for v in row) for row in X]
    given_X, Q = (texts, texts[::3]) if metric == "edit" else (X, X[::3] + 0.1)
    params = {"categorical": [1]} if metric == "gower" else None
    model = AnytimeNeighborsClassifier(metric=metric, metric_params=params, search="inverted").fit(given_X, y)
    model.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors", mmap=mmap)
    for twin in (loaded, pickle.loads(pickle.dumps(model))):
        for budget in (0, 7, 10**6):
            assert np.array_equal(twin.predict(Q, budget=budget), model.predict(Q, budget=budget))
        twin.partial_fit(given_X[:2], y[:2])
        assert len(twin.exemplars_) == 42


def write_changed(path, model, *, metadata=None, arrays=None):
    """Write the file of a model with some of its content replaced."""
    file = model.to_file()
    changed = {"metadata": file.metadata | (metadata or {}), "arrays": file.arrays | (arrays or {})}
    write_model(path, kind=file.kind, version=file.version, **changed)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("label", lambda a: a + 5),
        ("layout", lambda a: a + 1000),
        ("layout", lambda a: np.concatenate([a[:3], [2**63 - 1], a[4:]])),
        ("serial", lambda a: a + (2**63 - 100)),
        ("fronts", lambda a: np.array([3])),
        ("renewal", lambda a: np.array([3])),
        ("useful", lambda a: np.array([1], np.uint8)),
        ("rows", lambda a: a[:-1]),
        ("blocks", lambda a: a[:-16]),
        ("list", lambda a: np.array([0, 5], dtype=np.int64)),
        ("learned.width", lambda a: a + 1),
        ("learned.unit", lambda a: a * 0),
        ("learned.shift", lambda a: a[:-1]),
        ("learned.columns", lambda a: a * 0),
        ("learned.ranges", lambda a: a[:-1]),
        ("learned.n_categorical", lambda a: a + 0.5),
    ],
)
def test_a_file_with_a_damaged_array_is_an_error_that_names_the_file(name, change, tmp_path):
    model = AnytimeNeighborsClassifier(metric="gower", metric_params={"categorical": [1]}, scaling="minmax")
    model.fit(*make_stream(4, 40))
    write_changed(tmp_path / "m.safetensors", model, arrays={name: change(model.to_file().arrays[name])})
    with pytest.raises(ModelFileError, match=r"m\.safetensors: "):
        load(tmp_path / "m.safetensors")


def test_a_file_of_vectors_without_columns_is_an_error(tmp_path):
    model = AnytimeNeighborsClassifier().fit(*make_stream(4, 40))
    write_changed(tmp_path / "m.safetensors", model, metadata={"columns": None})
    with pytest.raises(ModelFileError, match="has columns for texts, or none for vectors"):
        load(tmp_path / "m.safetensors")


def test_a_file_of_texts_with_columns_is_an_error(tmp_path):
    model = AnytimeNeighborsClassifier(metric="edit").fit(["one", "two"], [0, 1])
    columns = AnytimeNeighborsClassifier().fit(*make_stream(4, 40)).to_file().metadata["columns"]
    write_changed(tmp_path / "m.safetensors", model, metadata={"columns": columns})
    with pytest.raises(ModelFileError, match="has columns for texts, or none for vectors"):
        load(tmp_path / "m.safetensors")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_bytes": 10}, "max_bytes is 10; use at least"),
        ({"metric": "euclid"}, "metric is 'euclid'"),
        ({"window": 0}, "window is 0"),
    ],
)
def test_a_file_with_an_invalid_parameter_is_an_error_that_names_it(parameters, message, tmp_path):
    model = AnytimeNeighborsClassifier().fit(*make_stream(4, 40))
    valid = model.to_file().metadata["parameters"]
    write_changed(tmp_path / "m.safetensors", model, metadata={"parameters": valid | parameters})
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m.safetensors")


@pytest.mark.parametrize("profile", ["no profile", 3, {}])
def test_a_file_with_a_damaged_profile_is_an_error(profile, tmp_path):
    model = AnytimeNeighborsClassifier().fit(*make_stream(4, 40))
    write_changed(tmp_path / "m.safetensors", model, metadata={"trimmed_profile": profile})
    with pytest.raises(ModelFileError, match=r"m\.safetensors: "):
        load(tmp_path / "m.safetensors")


def test_a_file_keeps_arrays_among_the_parameters_as_lists(tmp_path):
    X, y = make_stream(4, 40)
    model = AnytimeNeighborsClassifier(metric="mahalanobis", metric_params={"VI": np.eye(2)}).fit(X, y)
    model.save(tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    assert loaded.metric_params == {"VI": [[1.0, 0.0], [0.0, 1.0]]}
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_a_file_keeps_the_capacity_that_max_bytes_allows(tmp_path):
    model = AnytimeNeighborsClassifier(max_bytes=30_000).fit(*make_stream(4, 40))
    model.save(tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    assert loaded.exemplars_.capacity == model.exemplars_.capacity > 0


def test_a_python_metric_cannot_be_saved(tmp_path):
    model = AnytimeNeighborsClassifier(metric=lambda a, b: abs(a - b)).fit([1, 2, 3], [0, 1, 1])
    with pytest.raises(TypeError, match="pickle it, or use a named metric"):
        model.save(tmp_path / "m.safetensors")
