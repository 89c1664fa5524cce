"""Model files: what is written comes back equal."""

import json
import os
import stat
import zlib

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from cases import any_arrays, described, json_values, same
from hypothesis import given
from hypothesis import strategies as st

from anystream.model_file import FORMAT, ModelFileError, container, read_model, write_model


def array_names():
    names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
    return names.filter(lambda name: not name.startswith("_padding_"))  # reserved, and rejected with an error


@given(
    arrays=st.dictionaries(array_names(), any_arrays(), max_size=5),
    metadata=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), json_values(), max_size=4),
    version=st.integers(1, 10**9 - 1),
    mmap=st.booleans(),
)
def test_what_is_written_comes_back(folder, arrays, metadata, version, mmap):
    path = folder / "round_trip.safetensors"
    write_model(path, kind="tree", version=version, metadata=metadata, arrays=arrays)
    content = read_model(path, mmap=mmap, verify=True)
    assert (content.path, content.kind, content.version) == (path, "tree", version)
    assert content.metadata == metadata
    assert json.dumps(content.metadata) == json.dumps(metadata)  # 1, 1.0 and True are not the same
    assert list(content.arrays) == list(arrays)
    for name, array in content.arrays.items():
        assert same(array, arrays[name])


@given(arrays=st.lists(any_arrays(), max_size=6), mmap=st.booleans())
def test_arrays_are_aligned_and_read_only(folder, arrays, mmap):
    path = folder / "aligned.safetensors"
    write_model(path, kind="k", version=1, metadata={}, arrays={str(i): a for i, a in enumerate(arrays)})
    for array in read_model(path, mmap=mmap).arrays.values():
        assert array.size == 0 or array.ctypes.data % 64 == 0
        assert array.flags.c_contiguous
        assert not array.flags.writeable
        with pytest.raises(ValueError):
            array.flags.writeable = True


def test_the_safetensors_library_reads_our_files(small):
    content = read_model(small)
    loaded = safetensors.numpy.load_file(small)
    visible = {name: array for name, array in loaded.items() if not name.startswith("_padding_")}
    assert {name: same(array, content.arrays[name]) for name, array in visible.items()} == {
        "mean": True,
        "first": True,
        "flag": True,
        "count": True,
    }
    with safetensors.safe_open(small, "numpy") as file:
        fields = file.metadata()
    assert (fields["format"], fields["kind"], fields["version"]) == (FORMAT, "tree", "3")
    assert json.loads(fields["metadata"]) == {"labels": ["a", "ü"], "d": 2}
    assert json.loads(fields["array_checksums"])["mean"] == f"{zlib.crc32(loaded['mean'].tobytes()):08x}"


@pytest.mark.parametrize("mmap", [True, False])
def test_a_file_that_the_safetensors_library_wrote_again_reads_the_same(small, tmp_path, mmap):
    with safetensors.safe_open(small, "numpy") as file:
        fields = file.metadata()
    again = tmp_path / "again.safetensors"
    safetensors.numpy.save_file(safetensors.numpy.load_file(small), again, fields)
    assert again.read_bytes() != small.read_bytes()  # the arrays lie in another order
    assert described(read_model(again, mmap=mmap, verify=True)) == described(read_model(small))


@pytest.mark.parametrize("fields", [None, {"format": "pt"}, {"format": FORMAT}])
def test_a_foreign_safetensors_file_is_rejected_for_its_missing_kind(tmp_path, fields):
    path = tmp_path / "foreign.safetensors"
    safetensors.numpy.save_file({"x": np.ones(3)}, path, fields)
    with pytest.raises(ModelFileError, match=r"foreign.safetensors: it has no format and kind of anystream"):
        read_model(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": ""}, "kind is ''; name the model"),
        ({"version": 0}, "version is 0; count"),
        ({"version": True}, "version is True"),
        ({"metadata": {"a": (1, 2)}}, r"metadata 'a' is \(1, 2\), which JSON would change; use lists"),
        ({"metadata": {"a": {1: 2}}}, "metadata 'a' is {1: 2}, which JSON would change"),
        ({"metadata": {"a": float("nan")}}, "metadata 'a' is not plain JSON"),
        ({"metadata": {"a": np.int64(1)}}, "metadata 'a' is not plain JSON .*int64"),
        ({"metadata": {"a": 10**100}}, "metadata 'a' is not plain JSON .*101 digits"),
        ({"metadata": {"a": 10**5000}}, "metadata 'a' is not plain JSON"),
        ({"metadata": {"a": "\ud800"}}, "metadata 'a' is not plain JSON .*surrogates"),
        ({"metadata": {"a": "x" * 17 * 2**20}}, "bytes, allowed are 16777216; move metadata to an array"),
        (
            {"arrays": {"a": np.ones(2, complex)}},
            "array 'a' has dtype complex128; convert it to one of bool, int8",
        ),
        ({"arrays": {"a": np.array(["x"])}}, "array 'a' has dtype <U1"),
        ({"arrays": {"a": np.ones(2, "f4,i4")}}, "array 'a' has dtype"),
        ({"arrays": {"a": [1, 2]}}, "array 'a' is a list; pass a plain NumPy array"),
        ({"arrays": {"a": np.ma.array([1, 2])}}, "array 'a' is a MaskedArray"),
        ({"arrays": {"": np.ones(2)}}, "an array cannot be named ''"),
        ({"arrays": {"__metadata__": np.ones(2)}}, "an array cannot be named '__metadata__'"),
        ({"arrays": {"_padding_1": np.ones(2)}}, "an array cannot be named '_padding_1'"),
        ({"arrays": {"\ud800": np.ones(2)}}, "surrogates not allowed"),
    ],
)
def test_what_would_not_come_back_is_not_written(small, change, message):
    before = small.read_bytes()
    arguments = {"kind": "k", "version": 1, "metadata": {}, "arrays": {}} | change
    with pytest.raises(ModelFileError, match=r"small.safetensors: not written: .*" + message):
        write_model(small, **arguments)
    assert small.read_bytes() == before


def test_metadata_nested_too_deeply_or_in_a_circle_is_not_written(small):
    circle = []
    circle.append(circle)
    for value, message in ((json.loads("[" * 32 + "]" * 32), "nested 33 deep"), (circle, "Circular")):
        with pytest.raises(ModelFileError, match=r"metadata 'a' is not plain JSON .*" + message):
            write_model(small, kind="k", version=1, metadata={"a": value}, arrays={})


@pytest.mark.parametrize("step", ["os.fsync", "os.replace", "shutil.copymode"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(small, monkeypatch, step, error):
    before = small.read_bytes()

    def fail(*arguments):
        raise error

    monkeypatch.setattr(step, fail)
    with pytest.raises(type(error)):
        write_model(small, kind="new", version=1, metadata={}, arrays={"x": np.ones(1000)})
    assert small.read_bytes() == before
    assert os.listdir(small.parent) == [small.name]


def test_a_write_replaces_the_file_and_leaves_nothing_else(small):
    old = read_model(small)
    write_model(small, kind="new", version=1, metadata={}, arrays={"x": np.ones(3)})
    assert os.listdir(small.parent) == [small.name]
    assert described(read_model(small))[0] == "new"
    assert old.arrays["first"].tolist() == [0, 1, 3]  # still mapped


def test_a_write_follows_a_link_and_keeps_the_mode(small, tmp_path):
    small.chmod(0o640)
    link = tmp_path / "current.safetensors"
    link.symlink_to(small.name)
    write_model(link, kind="new", version=1, metadata={}, arrays={})
    assert link.is_symlink()
    assert read_model(small).kind == "new"
    assert stat.S_IMODE(small.stat().st_mode) == 0o640


def test_a_write_into_a_missing_folder_or_onto_a_folder_raises(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"create it first: .*absent"):
        write_model(tmp_path / "absent" / "m", kind="k", version=1, metadata={}, arrays={})
    with pytest.raises(ModelFileError, match="a folder or a device has this name; name a file"):
        write_model(tmp_path, kind="k", version=1, metadata={}, arrays={})


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent.safetensors"):
        read_model(tmp_path / "absent.safetensors")


def test_a_folder_a_pipe_or_an_unreadable_file_is_named_as_such(small, tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/null"):
        with pytest.raises(ModelFileError, match=f"{path}: it is a folder or a device; name the model file"):
            read_model(path)
    with pytest.raises(ModelFileError, match=r"cannot be read .*Not a directory.*; check path"):
        read_model(small / "below")

    def denied(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(container, "open", denied, raising=False)
    with pytest.raises(ModelFileError, match=r"cannot be read .*Permission denied.*; check path and permissions"):
        read_model(small)


def test_a_file_too_large_for_memory_says_to_map_it(small, monkeypatch):
    def no_memory(*arguments):
        raise MemoryError

    monkeypatch.setattr(np, "empty", no_memory)
    with pytest.raises(ModelFileError, match="do not fit in memory; read it with mmap=True"):
        read_model(small, mmap=False)


@pytest.mark.parametrize("mmap", [True, False])
def test_a_file_that_shrinks_while_being_read_says_to_read_it_again(tmp_path, monkeypatch, mmap):
    path = tmp_path / "shrinking.safetensors"
    write_model(path, kind="k", version=1, metadata={}, arrays={"x": np.ones(100_000)})
    monkeypatch.setattr(container, "_check_format", lambda fields: os.truncate(path, 50_000))
    with pytest.raises(ModelFileError, match="it changed while being read; read it again"):
        read_model(path, mmap=mmap)
