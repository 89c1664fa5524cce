"""Data sets by name: where they are searched, what is fetched and stored, and the errors."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.datasets
from scipy.sparse import csr_matrix

from anystream.streams import DatasetNotFoundError, available_datasets, load_dataset
from streams.small_dataset import X, Y, to_dense

BUNDLED = ("breast_cancer", "digits", "iris", "wine")
SHAPES = {  # records, features, classes, training records
    "covtype": (581_012, 54, 7, None),
    "kddcup99_10pct": (494_021, 41, 23, None),
    "airlines": (539_383, 7, 2, None),
    "elec2": (45_312, 8, 2, None),
    "usps": (9298, 256, 10, 7291),
    "letter": (20_000, 16, 26, 16_000),
    "pendigits": (10_992, 16, 10, 7494),
    "optdigits": (5620, 64, 10, 3823),
    "vowel": (990, 10, 11, 528),
    "spam_corpus": (9324, 39_916, 2, None),
    "SyntheticControl": (600, 60, 6, 300),
}


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_data_sets_need_no_file(data_directory, name):
    data = load_dataset(name)
    expected = getattr(sklearn.datasets, f"load_{name}")()
    assert np.array_equal(data.X, expected.data)
    assert np.array_equal(data.y, expected.target)
    assert data.class_names == tuple(map(str, expected.target_names))
    assert data.n_features == data.X.shape[1]


def test_prefixes_are_optional_and_the_exact_name_has_precedence(data_directory):
    for stem, label in [("letter", 0), ("uci_letter", 1), ("uci_vowel", 2), ("ucr_Fish", 3), ("uci_iris", 4)]:
        np.savez(data_directory / f"{stem}.npz", X=[[1.0]], y=[label], class_names=list("abcde"))
    found = {name: int(load_dataset(name).y[0]) for name in available_datasets() if name not in BUNDLED}
    assert found == {"letter": 0, "uci_letter": 1, "vowel": 2, "Fish": 3, "uci_iris": 4}
    assert load_dataset("uci_vowel").y[0] == 2
    assert load_dataset("iris").n_records == 150


def test_available_datasets_lists_only_what_can_be_loaded(data_directory):
    for stem in ("uci_", ".hidden", "wine", "x"):
        np.savez(data_directory / f"{stem}.npz", X=X, y=Y)
    (data_directory / "folder.npz").mkdir()
    names = available_datasets()
    assert names == ("breast_cancer", "digits", "iris", "uci_", "wine", "x")
    for name in names:
        load_dataset(name)


def test_the_data_directory_is_in_the_cache_by_default(data_directory, monkeypatch):
    monkeypatch.setenv("HOME", str(data_directory))
    monkeypatch.setenv("ANYSTREAM_DATA", "")
    cache = data_directory / ".cache" / "anystream"
    cache.mkdir(parents=True)
    np.savez(cache / "mine.npz", X=X, y=Y)
    assert "mine" in available_datasets()
    assert load_dataset("mine").n_records == 5


def test_the_error_for_an_unknown_data_set_lists_the_places_searched(data_directory):
    np.savez(data_directory / "known.npz", X=X, y=Y)
    with pytest.raises(DatasetNotFoundError) as caught:
        load_dataset("pendigits")
    message = str(caught.value)
    assert "'pendigits'" in message
    assert f"pendigits.npz, uci_pendigits.npz, ucr_pendigits.npz exists in {data_directory}, and" in message
    assert "name resolution failed" in message
    assert "ANYSTREAM_DATA" in message
    assert message.endswith("breast_cancer, digits, iris, known, wine")
    assert sorted(path.name for path in data_directory.iterdir()) == ["known.npz"]  # nothing was written


def test_a_missing_data_directory_is_named_and_not_created(data_directory, monkeypatch):
    monkeypatch.setenv("ANYSTREAM_DATA", str(data_directory / "typo"))
    with pytest.raises(DatasetNotFoundError, match=r"typo \(no such directory\)"):
        load_dataset("pendigits")
    assert available_datasets() == BUNDLED
    assert not (data_directory / "typo").exists()


@pytest.mark.parametrize("name", ["", "../letter", "a/b", "a\\b", ".hidden", "nul\0"])
def test_a_path_is_not_a_valid_name(data_directory, name):
    with pytest.raises(ValueError, match="give a name without a path"):
        load_dataset(name)


def test_a_name_must_be_a_string(data_directory):
    with pytest.raises(TypeError, match="the name of a data set is 61; give a string"):
        load_dataset(61)


def mock_openml(monkeypatch, **bunch):
    calls = []

    def fetch(name, **_):
        calls.append(name)
        return SimpleNamespace(**bunch)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return calls


def test_a_fetched_data_set_is_encoded_and_stored(data_directory, monkeypatch):
    calls = mock_openml(
        monkeypatch,
        data=np.array([[0.0, 2.0], [1.0, np.nan], [0.0, 4.0]]),
        target=np.array(["yes", "no", "yes"], dtype=object),
        feature_names=["colour", "size"],
        categories={"colour": ["red", "blue"]},
    )
    monkeypatch.setenv("ANYSTREAM_DATA", str(data_directory / "new"))
    first, second = load_dataset("shapes"), load_dataset("shapes")
    assert calls == ["shapes"]
    assert [path.name for path in (data_directory / "new").iterdir()] == ["shapes.npz"]
    assert "shapes" in available_datasets()
    for data in (first, second):
        assert data.class_names == ("no", "yes")
        assert data.y.tolist() == [1, 0, 1]
        assert data.categorical == (0,)
        assert data.categories == {"colour": ("red", "blue")}
        assert np.array_equal(data.X, [[0.0, 2.0], [1.0, np.nan], [0.0, 4.0]], equal_nan=True)


def test_a_fetched_data_set_that_cannot_be_stored_is_returned_with_a_warning(data_directory, monkeypatch):
    mock_openml(
        monkeypatch,
        data=csr_matrix(np.eye(2)),
        target=np.array(["a", "b"], dtype=object),
        feature_names=["p", "q"],
        categories={},
    )
    (data_directory / "file").write_text("not a directory")
    monkeypatch.setenv("ANYSTREAM_DATA", str(data_directory / "file"))
    with pytest.warns(UserWarning, match="shapes could not be stored and will be fetched again next time"):
        data = load_dataset("shapes")
    assert np.array_equal(data.X.toarray(), np.eye(2))


@pytest.mark.parametrize("target", [None, np.array([1.5, 2.5]), np.array([["a", "b"], ["c", "d"]])])
def test_a_fetched_data_set_without_class_labels_is_rejected(data_directory, monkeypatch, target):
    mock_openml(monkeypatch, data=np.eye(2), target=target, feature_names=["p", "q"], categories={})
    with pytest.raises(ValueError, match="prices on OpenML does not have a single column of class labels"):
        load_dataset("prices")
    assert list(data_directory.iterdir()) == []


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("ANYSTREAM_DATA"), reason="ANYSTREAM_DATA is not set")
def test_every_file_of_the_data_directory_loads():
    paths = sorted(Path(os.environ["ANYSTREAM_DATA"]).expanduser().glob("*.npz"))
    assert paths
    assert len(available_datasets()) == len(paths) + len(BUNDLED)
    for name in set(available_datasets()) - set(BUNDLED):
        data = load_dataset(name)
        assert data.X.shape[0] == data.n_records == len(data.y)
        assert data.X.ndim == 1 or data.X.shape[1] == data.n_features
        assert np.array_equal(np.unique(data.y), data.classes)
        assert all(
            to_dense(data.X[:, data.feature_names.index(column)]).max() < len(labels)
            for column, labels in data.categories.items()
        )
        train_size = None if data.is_test is None else len(data.train[1])
        shape = (data.n_records, data.n_features, data.n_classes, train_size)
        assert SHAPES.get(name, shape) == shape
