"""Data sets in files: every layout is read, and a malformed or damaged file is rejected."""

import json
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from anystream.streams import load_dataset
from anystream.streams.npz import read_npz, write_npz
from streams.small_dataset import X, Y, datasets, to_dense

# every example overwrites the same file in tmp_path
REUSED_DIRECTORY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_a_plain_table_is_loaded_as_float64_with_names(data_directory):
    np.savez_compressed(
        data_directory / "plain.npz", X=np.asfortranarray(X), y=Y, feature_names=["a", "b"], class_names=["r", "s", "t"]
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


def test_missing_feature_and_class_names_are_numbered(data_directory):
    np.savez(data_directory / "bare.npz", X=X, y=Y)
    data = load_dataset("bare")
    assert data.feature_names == ("x0", "x1")
    assert data.class_names == ("0", "1", "2")


def test_training_and_test_arrays_become_one_data_set_with_a_split(data_directory):
    np.savez(data_directory / "parts.npz", X_train=X, y_train=Y, X_test=X[:2] + 10, y_test=Y[:2])
    data = load_dataset("parts")
    assert np.array_equal(data.X, np.vstack([X, X[:2] + 10]))
    assert data.is_test.tolist() == [False] * 5 + [True] * 2
    assert np.array_equal(data.train[0], X)
    assert np.array_equal(data.train[1], Y)
    assert np.array_equal(data.test[0], X[:2] + 10)
    assert np.array_equal(data.test[1], Y[:2])


def test_a_split_is_read_from_train_size_or_is_test(data_directory):
    np.savez(data_directory / "position.npz", X=X, y=Y, train_size=3)
    np.savez(data_directory / "mark.npz", X=X, y=Y, is_test=np.array([0, 1, 0, 1, 0], dtype=np.uint8))
    assert load_dataset("position").is_test.tolist() == [False, False, False, True, True]
    assert load_dataset("mark").test[1].tolist() == [1, 1]


def test_sparse_data_sets_are_csr(data_directory):
    dense = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]], dtype=float)
    sparse = csr_matrix(dense)
    np.savez(
        data_directory / "sparse.npz",
        indptr=sparse.indptr,
        indices=sparse.indices.astype(np.uint16),
        shape=np.array([3, 3]),
        y=[0, 1, 0],
    )
    np.savez(
        data_directory / "weighted.npz",
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
    assert [records.shape for records, _ in data.batches(2)] == [(2, 3), (1, 3)]
    assert [record.toarray().tolist() for record, _ in data.records()] == [[row] for row in dense.tolist()]
    assert np.array_equal(data.shuffled(seed=0).X.toarray().sum(axis=0), dense.sum(axis=0))


def test_records_may_be_strings(data_directory):
    np.savez(data_directory / "words.npz", X=np.array(["ash", "oak", "elm"]), y=[0, 1, 0], class_names=["a", "b"])
    data = load_dataset("words")
    assert list(data.records()) == [("ash", 0), ("oak", 1), ("elm", 0)]
    assert data.n_features == 1


def test_categorical_columns_are_read_from_either_array(data_directory):
    np.savez(data_directory / "listed.npz", X=X, y=Y, categorical=np.array([1], dtype=np.uint8))
    labels = json.dumps({"b": ["no", "yes", "perhaps"]})
    np.savez(data_directory / "labelled.npz", X=X, y=Y, feature_names=["a", "b"], categories=np.array(labels))
    assert load_dataset("listed").categorical == (1,)
    assert load_dataset("listed").categories == {}
    assert load_dataset("labelled").categorical == (1,)
    assert load_dataset("labelled").categories == {"b": ("no", "yes", "perhaps")}


def test_cells_marked_as_missing_are_nan(data_directory):
    missing = np.zeros(X.shape, dtype=bool)
    missing[1, 0] = missing[4, 1] = True
    np.savez(data_directory / "holes.npz", X=X, y=Y, missing=missing)
    assert np.array_equal(np.isnan(load_dataset("holes").X), missing)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": Y}, "X is not a file in the archive"),
        ({"X": X}, "y is not a file in the archive"),
        ({"X": X, "y": Y[:4]}, "y has 4 entries instead of 5"),
        ({"X": X, "y": Y.astype(float)}, "type float64; store a list of integer codes"),
        ({"X": X[0], "y": Y}, r"X has shape \(2,\)"),
        ({"X": X[:0], "y": Y[:0]}, "it does not contain any records"),
        ({"X": X, "y": Y, "class_names": ["a"]}, "y has codes from 0 to 2 for 1 class names"),
        ({"X": X, "y": Y - np.int64(1)}, "y has codes from -1"),
        ({"X": X, "y": Y, "feature_names": ["a"]}, "feature_names has 1 entries instead of 2"),
        ({"X": X, "y": Y, "train_size": 5}, "train_size is 5, but there are 5 records"),
        ({"X": X, "y": Y, "is_test": [1, 0]}, r"is_test has shape \(2,\)"),
        ({"X": X, "y": Y, "missing": [True]}, r"missing has shape \(1,\)"),
        ({"X": np.array(["a"]), "y": [0], "missing": [True]}, "only a dense table"),
        ({"X": X, "y": Y, "categorical": [2]}, r"categorical lists the columns \[2\], but there are 2 features"),
        ({"X": X, "y": Y, "categories": "{"}, "Expecting property name"),
        ({"X": X, "y": Y, "categories": '{"z": []}'}, "which are not names of features"),
        ({"X_train": X, "y_train": Y, "X_test": X}, "y_test is not a file"),
        ({"X_train": X, "y_train": Y[:1], "X_test": X, "y_test": Y}, "y has 1 entries instead of 5"),
        (
            {"indptr": [0, 1, 2], "indices": [0, 9], "shape": [2, 3], "y": [0, 1]},
            "column index|indices must be",
        ),
        ({"X": np.array([{}, []], dtype=object), "y": [0, 1]}, "allow_pickle=False"),
    ],
)
def test_the_error_for_a_malformed_file_names_the_file_and_the_array(data_directory, arrays, message):
    path = data_directory / "malformed.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=message) as caught:
        load_dataset("malformed")
    assert str(caught.value).startswith(f"{path} is not a readable data set")


def test_the_error_for_a_file_that_is_not_an_archive_names_the_file(data_directory):
    (data_directory / "text.npz").write_text("label,a,b\n")
    (data_directory / "empty.npz").write_bytes(b"")
    with (data_directory / "array.npz").open("wb") as file:
        np.save(file, X)
    for name in ("text", "empty", "array"):
        with pytest.raises(ValueError, match=rf"{name}.npz is not a readable data set"):
            load_dataset(name)


@REUSED_DIRECTORY
@given(data=st.data())
def test_a_damaged_file_gives_a_data_set_or_an_error_that_names_the_file(tmp_path, data):
    path = tmp_path / "damaged.npz"
    np.savez_compressed(path, X=X, y=Y, feature_names=["a", "b"], class_names=["r", "s", "t"])
    content = bytearray(path.read_bytes())
    for position, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=4)
    ):
        content[position] = value
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        loaded = read_npz("damaged", path)
    except ValueError as error:
        assert str(path) in str(error)
    else:
        assert loaded.X.shape == (loaded.n_records, loaded.n_features)


@REUSED_DIRECTORY
@given(data=datasets())
def test_a_written_data_set_is_restored(tmp_path, data):
    write_npz(data, tmp_path / "drawn.npz")
    restored = read_npz("drawn", tmp_path / "drawn.npz")
    assert type(restored.X) is type(data.X)
    assert np.array_equal(to_dense(restored.X), to_dense(data.X))
    assert np.array_equal(restored.y, data.y)
    assert (restored.is_test is None) == (data.is_test is None)
    assert data.is_test is None or np.array_equal(restored.is_test, data.is_test)
    for field in ("name", "feature_names", "class_names", "categorical", "categories"):
        assert getattr(restored, field) == getattr(data, field)
    assert os.listdir(tmp_path) == ["drawn.npz"]


def test_a_failed_write_leaves_the_old_file_and_no_temporary_file(tmp_path, monkeypatch):
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
