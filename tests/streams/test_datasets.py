"""Data sets are found where they lie, read as they were written, and refused when they are damaged."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from anystream.streams import Dataset, DatasetNotFound, available_datasets, load_dataset
from anystream.streams.npz import read_npz, write_npz

# the file is written anew for every example
FILE_EACH_TIME = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
BUNDLED = ("breast_cancer", "digits", "iris", "wine")
X = np.array([[0.5, 1.0], [1.5, 0.0], [2.5, 2.0], [3.5, 1.0], [4.5, 0.0]], dtype=np.float32)
Y = np.array([0, 1, 2, 1, 0], dtype=np.uint8)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data home of the test's own, and no network."""

    def offline(*_, **__):
        raise URLError("name resolution failed")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)
    monkeypatch.setenv("ANYSTREAM_DATA", str(tmp_path))
    return tmp_path


def answer_openml(monkeypatch, **bunch):
    calls = []

    def fetch(name, **_):
        calls.append(name)
        return SimpleNamespace(**bunch)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return calls


# What a file holds


def test_a_plain_table_is_loaded_as_float64_with_names(home):
    np.savez_compressed(
        home / "plain.npz", X=np.asfortranarray(X), y=Y, feature_names=["a", "b"], class_names=["r", "s", "t"]
    )
    data = load_dataset("plain")
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert np.array_equal(data.X, X)
    assert data.y.dtype == np.int64
    assert data.y.tolist() == Y.tolist()
    assert (data.name, data.feature_names, data.class_names) == ("plain", ("a", "b"), ("r", "s", "t"))
    assert (data.n_records, data.n_features, data.n_classes) == (5, 2, 3)
    assert data.classes.tolist() == [0, 1, 2]
    assert (data.categorical, data.categories, data.is_test) == ((), {}, None)


def test_names_that_a_file_leaves_out_are_numbered(home):
    np.savez(home / "bare.npz", X=X, y=Y)
    data = load_dataset("bare")
    assert data.feature_names == ("x0", "x1")
    assert data.class_names == ("0", "1", "2")


def test_the_two_parts_of_a_set_become_one_with_a_split(home):
    np.savez(home / "parts.npz", X_train=X, y_train=Y, X_test=X[:2] + 10, y_test=Y[:2])
    data = load_dataset("parts")
    assert np.array_equal(data.X, np.vstack([X, X[:2] + 10]))
    assert data.is_test.tolist() == [False] * 5 + [True] * 2
    assert np.array_equal(data.train[0], X)
    assert np.array_equal(data.train[1], Y)
    assert np.array_equal(data.test[0], X[:2] + 10)
    assert np.array_equal(data.test[1], Y[:2])


def test_a_split_by_position_and_a_split_by_mark_are_kept(home):
    np.savez(home / "position.npz", X=X, y=Y, train_size=3)
    np.savez(home / "mark.npz", X=X, y=Y, is_test=np.array([0, 1, 0, 1, 0], dtype=np.uint8))
    assert load_dataset("position").is_test.tolist() == [False, False, False, True, True]
    assert load_dataset("mark").test[1].tolist() == [1, 1]


def test_a_set_without_a_split_says_so(home):
    np.savez(home / "whole.npz", X=X, y=Y)
    for part in ("train", "test"):
        with pytest.raises(ValueError, match="whole has no predefined split; divide X and y yourself"):
            getattr(load_dataset("whole"), part)


def test_sparse_sets_are_csr(home):
    dense = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]], dtype=float)
    sparse = csr_matrix(dense)
    np.savez(
        home / "sparse.npz",
        indptr=sparse.indptr,
        indices=sparse.indices.astype(np.uint16),
        shape=np.array([3, 3]),
        y=[0, 1, 0],
    )
    np.savez(
        home / "weighted.npz",
        indptr=sparse.indptr,
        indices=sparse.indices,
        data=[2, 3, 4],
        shape=[3, 3],
        y=[0, 1, 0],
    )
    data = load_dataset("sparse")
    assert isinstance(data.X, csr_matrix)
    assert np.array_equal(data.X.toarray(), dense)
    assert load_dataset("weighted").X.data.tolist() == [2.0, 3.0, 4.0]
    assert data.n_features == 3
    assert [rows.shape for rows, _ in data.batches(2)] == [(2, 3), (1, 3)]
    assert [row.toarray().tolist() for row, _ in data.records()] == [[row] for row in dense.tolist()]
    assert np.array_equal(data.shuffled(seed=0).X.toarray().sum(axis=0), dense.sum(axis=0))


def test_records_may_be_strings(home):
    np.savez(home / "words.npz", X=np.array(["ash", "oak", "elm"]), y=[0, 1, 0], class_names=["a", "b"])
    data = load_dataset("words")
    assert list(data.records()) == [("ash", 0), ("oak", 1), ("elm", 0)]
    assert data.n_features == 1


def test_categorical_columns_come_from_either_array(home):
    np.savez(home / "listed.npz", X=X, y=Y, categorical=np.array([1], dtype=np.uint8))
    labels = json.dumps({"b": ["no", "yes", "perhaps"]})
    np.savez(home / "labelled.npz", X=X, y=Y, feature_names=["a", "b"], categories=np.array(labels))
    assert load_dataset("listed").categorical == (1,)
    assert load_dataset("listed").categories == {}
    assert load_dataset("labelled").categorical == (1,)
    assert load_dataset("labelled").categories == {"b": ("no", "yes", "perhaps")}


def test_cells_that_were_filled_in_are_missing_again(home):
    missing = np.zeros(X.shape, dtype=bool)
    missing[1, 0] = missing[4, 1] = True
    np.savez(home / "holes.npz", X=X, y=Y, missing=missing)
    assert np.array_equal(np.isnan(load_dataset("holes").X), missing)


# Damaged and odd files


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"y": Y}, "X is not a file in the archive"),
        ({"X": X}, "y is not a file in the archive"),
        ({"X": X, "y": Y[:4]}, "y has 4 entries, 5 are needed"),
        ({"X": X, "y": Y.astype(float)}, "type float64; a list of integer codes is needed"),
        ({"X": X[0], "y": Y}, r"X has shape \(2,\)"),
        ({"X": X[:0], "y": Y[:0]}, "it has no records"),
        ({"X": X, "y": Y, "class_names": ["a"]}, "y has codes from 0 to 2 for 1 class names"),
        ({"X": X, "y": Y - np.int64(1)}, "y has codes from -1"),
        ({"X": X, "y": Y, "feature_names": ["a"]}, "feature_names has 1 entries, 2 are needed"),
        ({"X": X, "y": Y, "train_size": 5}, "train_size is 5 of 5"),
        ({"X": X, "y": Y, "is_test": [1, 0]}, r"is_test has shape \(2,\)"),
        ({"X": X, "y": Y, "missing": [True]}, r"missing has shape \(1,\)"),
        ({"X": np.array(["a"]), "y": [0], "missing": [True]}, "only a dense table"),
        ({"X": X, "y": Y, "categorical": [2]}, r"categorical columns \[2\] of 2 features"),
        ({"X": X, "y": Y, "categories": "{"}, "Expecting property name"),
        ({"X": X, "y": Y, "categories": '{"z": []}'}, "which are no features"),
        ({"X_train": X, "y_train": Y, "X_test": X}, "y_test is not a file"),
        ({"X_train": X, "y_train": Y[:1], "X_test": X, "y_test": Y}, "y has 1 entries, 5 are needed"),
        (
            {"indptr": [0, 1, 2], "indices": [0, 9], "shape": [2, 3], "y": [0, 1]},
            "column index|indices must be",
        ),
        ({"X": np.array([{}, []], dtype=object), "y": [0, 1]}, "allow_pickle=False"),
    ],
)
def test_an_odd_file_is_named_with_what_is_wrong(home, arrays, complaint):
    path = home / "odd.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=complaint) as caught:
        load_dataset("odd")
    assert str(caught.value).startswith(f"{path} holds no readable data set")


def test_a_file_that_is_no_archive_is_named(home):
    (home / "text.npz").write_text("label,a,b\n")
    (home / "empty.npz").write_bytes(b"")
    with (home / "array.npz").open("wb") as file:
        np.save(file, X)
    for name in ("text", "empty", "array"):
        with pytest.raises(ValueError, match=rf"{name}.npz holds no readable data set"):
            load_dataset(name)


@FILE_EACH_TIME
@given(data=st.data())
def test_damage_gives_a_data_set_or_an_error_that_names_the_file(tmp_path, data):
    path = tmp_path / "damaged.npz"
    np.savez_compressed(path, X=X, y=Y, feature_names=["a", "b"], class_names=["r", "s", "t"])
    content = bytearray(path.read_bytes())
    for place, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=4)
    ):
        content[place] = value
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        loaded = read_npz("damaged", path)
    except ValueError as error:
        assert str(path) in str(error)  # whether it raises is what varies
    else:
        assert loaded.X.shape == (loaded.n_records, loaded.n_features)


# Where data sets are found


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_need_no_file(home, name):
    data = load_dataset(name)
    expected = getattr(sklearn.datasets, f"load_{name}")()
    assert np.array_equal(data.X, expected.data)
    assert np.array_equal(data.y, expected.target)
    assert data.class_names == tuple(map(str, expected.target_names))
    assert data.n_features == data.X.shape[1]


def test_prefixes_may_be_left_out_and_the_plain_name_comes_first(home):
    for stem, label in [("letter", 0), ("uci_letter", 1), ("uci_vowel", 2), ("ucr_Fish", 3), ("uci_iris", 4)]:
        np.savez(home / f"{stem}.npz", X=[[1.0]], y=[label], class_names=list("abcde"))
    found = {name: int(load_dataset(name).y[0]) for name in available_datasets() if name not in BUNDLED}
    assert found == {"letter": 0, "uci_letter": 1, "vowel": 2, "Fish": 3, "uci_iris": 4}
    assert load_dataset("uci_vowel").y[0] == 2
    assert load_dataset("iris").n_records == 150


def test_available_lists_only_what_can_be_asked_for(home):
    for stem in ("uci_", ".hidden", "wine", "x"):
        np.savez(home / f"{stem}.npz", X=X, y=Y)
    (home / "folder.npz").mkdir()
    names = available_datasets()
    assert names == ("breast_cancer", "digits", "iris", "uci_", "wine", "x")
    for name in names:
        load_dataset(name)


def test_without_the_variable_the_home_is_in_the_cache(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ANYSTREAM_DATA", "")
    cache = home / ".cache" / "anystream"
    cache.mkdir(parents=True)
    np.savez(cache / "mine.npz", X=X, y=Y)
    assert "mine" in available_datasets()
    assert load_dataset("mine").n_records == 5


def test_offline_an_unknown_set_says_where_it_was_looked_for(home):
    np.savez(home / "known.npz", X=X, y=Y)
    with pytest.raises(DatasetNotFound) as caught:
        load_dataset("pendigits")
    message = str(caught.value)
    assert "'pendigits'" in message
    assert f"pendigits.npz, uci_pendigits.npz, ucr_pendigits.npz is in {home}, and" in message
    assert "name resolution failed" in message
    assert "ANYSTREAM_DATA" in message
    assert message.endswith("breast_cancer, digits, iris, known, wine")
    assert sorted(path.name for path in home.iterdir()) == ["known.npz"]  # nothing is left behind


def test_a_home_that_is_no_directory_is_mentioned_and_not_made(home, monkeypatch):
    monkeypatch.setenv("ANYSTREAM_DATA", str(home / "typo"))
    with pytest.raises(DatasetNotFound, match=r"typo \(no such directory\)"):
        load_dataset("pendigits")
    assert available_datasets() == BUNDLED
    assert not (home / "typo").exists()


@pytest.mark.parametrize("name", ["", "../letter", "a/b", "a\\b", ".hidden", "nul\0"])
def test_a_path_is_no_name(home, name):
    with pytest.raises(ValueError, match="give a plain name without a path"):
        load_dataset(name)


def test_a_name_is_a_string(home):
    with pytest.raises(TypeError, match="the name of a data set is 61; give a string"):
        load_dataset(61)


# OpenML


def test_a_fetched_set_is_coded_and_kept(home, monkeypatch):
    calls = answer_openml(
        monkeypatch,
        data=np.array([[0.0, 2.0], [1.0, np.nan], [0.0, 4.0]]),
        target=np.array(["yes", "no", "yes"], dtype=object),
        feature_names=["colour", "size"],
        categories={"colour": ["red", "blue"]},
    )
    monkeypatch.setenv("ANYSTREAM_DATA", str(home / "new"))
    first, again = load_dataset("shapes"), load_dataset("shapes")
    assert calls == ["shapes"]
    assert [path.name for path in (home / "new").iterdir()] == ["shapes.npz"]
    assert "shapes" in available_datasets()
    for data in (first, again):
        assert data.class_names == ("no", "yes")
        assert data.y.tolist() == [1, 0, 1]
        assert data.categorical == (0,)
        assert data.categories == {"colour": ("red", "blue")}
        assert np.array_equal(data.X, [[0.0, 2.0], [1.0, np.nan], [0.0, 4.0]], equal_nan=True)


def test_a_fetched_set_that_cannot_be_kept_is_still_given(home, monkeypatch):
    answer_openml(
        monkeypatch,
        data=csr_matrix(np.eye(2)),
        target=np.array(["a", "b"], dtype=object),
        feature_names=["p", "q"],
        categories={},
    )
    (home / "file").write_text("in the way")
    monkeypatch.setenv("ANYSTREAM_DATA", str(home / "file"))
    with pytest.warns(UserWarning, match="shapes will be fetched anew next time"):
        data = load_dataset("shapes")
    assert np.array_equal(data.X.toarray(), np.eye(2))


@pytest.mark.parametrize("target", [None, np.array([1.5, 2.5]), np.array([["a", "b"], ["c", "d"]])])
def test_a_fetched_set_without_class_labels_is_refused(home, monkeypatch, target):
    answer_openml(monkeypatch, data=np.eye(2), target=target, feature_names=["p", "q"], categories={})
    with pytest.raises(ValueError, match="prices of OpenML has no single column of class labels"):
        load_dataset("prices")
    assert list(home.iterdir()) == []


# A data set as a stream


@st.composite
def datasets(draw):
    n, d, k = draw(st.integers(1, 40)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    dense = np.where(rng.random((n, d)) < 0.5, 0.0, rng.standard_normal((n, d)))
    return Dataset(
        name="drawn",
        X=csr_matrix(dense) if draw(st.booleans()) else dense,
        y=rng.integers(0, k, n),
        feature_names=tuple(f"é{column}" for column in range(d)),
        class_names=tuple("abc"[:k]),
        categorical=(0,) if draw(st.booleans()) else (),
        is_test=rng.random(n) < 0.3 if draw(st.booleans()) else None,
    )


def dense(records):
    return records if isinstance(records, np.ndarray) else records.toarray()


@settings(deadline=None)
@given(data=datasets(), size=st.integers(1, 50), start=st.integers(0, 45))
def test_batches_and_records_are_the_set_in_order(data, size, start):
    rest, labels = dense(data.X)[start:], data.y[start:]
    batches = list(data.batches(size, start=start))
    records = list(data.records(start=start))
    assert [len(y) for _, y in batches[:-1]] == [size] * (len(batches) - 1)
    assert [label for _, y in batches for label in y] == [label for _, label in records] == labels.tolist()
    if len(rest):
        assert np.array_equal(np.vstack([dense(rows) for rows, _ in batches]), rest)
        assert np.array_equal(np.vstack([dense(row) for row, _ in records]), rest)
        assert np.array_equal(dense(data.take(len(rest), start=start)[0]), rest)
    with pytest.raises(ValueError, match=f"asked of drawn, which has {data.n_records}; take fewer"):
        data.take(data.n_records + 1)


@settings(deadline=None)
@given(data=datasets(), seed=st.integers(0, 9))
def test_shuffling_keeps_records_labels_and_split_together(data, seed):
    def rows(of):
        split = of.is_test if of.is_test is not None else np.zeros(of.n_records)
        return np.column_stack([dense(of.X), of.y, split])

    shuffled = data.shuffled(seed)
    assert np.array_equal(rows(shuffled), rows(data.shuffled(seed)))
    assert sorted(rows(shuffled).tolist()) == sorted(rows(data).tolist())


def test_shuffling_changes_the_order():
    iris = load_dataset("iris")
    assert not np.array_equal(iris.shuffled(1).y, iris.y)
    assert not np.array_equal(iris.shuffled(1).y, iris.shuffled(2).y)


@FILE_EACH_TIME
@given(data=datasets())
def test_what_is_written_is_read_again(tmp_path, data):
    write_npz(data, tmp_path / "drawn.npz")
    again = read_npz("drawn", tmp_path / "drawn.npz")
    assert type(again.X) is type(data.X)
    assert np.array_equal(dense(again.X), dense(data.X))
    assert np.array_equal(again.y, data.y)
    assert (again.is_test is None) == (data.is_test is None)
    assert data.is_test is None or np.array_equal(again.is_test, data.is_test)
    for field in ("name", "feature_names", "class_names", "categorical", "categories"):
        assert getattr(again, field) == getattr(data, field)
    assert os.listdir(tmp_path) == ["drawn.npz"]


def test_writing_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    def disk_full(file, **_):
        file.write(b"half")
        raise OSError("no space left on device")

    path = tmp_path / "kept.npz"
    write_npz(load_dataset("iris"), path)
    monkeypatch.setattr(np, "savez_compressed", disk_full)
    with pytest.raises(OSError, match="no space left"):
        write_npz(load_dataset("wine"), path)
    assert os.listdir(tmp_path) == ["kept.npz"]
    assert read_npz("kept", path).n_records == 150


def test_bad_sizes_are_named():
    iris = load_dataset("iris")
    with pytest.raises(ValueError, match="size is 0"):
        iris.batches(0)
    with pytest.raises(TypeError, match=r"start is 1\.5"):
        iris.records(start=1.5)
    with pytest.raises(TypeError, match="seed is None"):
        iris.shuffled(None)


# The room


def test_importing_the_room_imports_neither_scikit_learn_nor_scipy_nor_the_native_core():
    script = (
        "import sys, anystream.streams as s; s.SEA().take(10); s.available_datasets(); "
        "print([m for m in sys.modules if m.startswith(('sklearn', 'scipy', 'anystream._native'))])"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


# The data sets themselves


DOCUMENTED = {  # records, features, classes, training records
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


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("ANYSTREAM_DATA"), reason="ANYSTREAM_DATA names no directory of data sets")
def test_every_file_of_the_data_home_loads():
    paths = sorted(Path(os.environ["ANYSTREAM_DATA"]).expanduser().glob("*.npz"))
    assert paths
    assert len(available_datasets()) == len(paths) + len(BUNDLED)
    for name in set(available_datasets()) - set(BUNDLED):
        data = load_dataset(name)
        assert data.X.shape[0] == data.n_records == len(data.y)
        assert data.X.ndim == 1 or data.X.shape[1] == data.n_features
        assert np.array_equal(np.unique(data.y), data.classes)
        assert all(
            dense(data.X[:, data.feature_names.index(column)]).max() < len(labels)
            for column, labels in data.categories.items()
        )
        train_size = None if data.is_test is None else len(data.train[1])
        shape = (data.n_records, data.n_features, data.n_classes, train_size)
        assert DOCUMENTED.get(name, shape) == shape
