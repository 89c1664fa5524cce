"""Model files: what is written comes back equal."""

import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from cases import any_arrays, described, json_values, same
from hypothesis import given
from hypothesis import strategies as st

from anystream.model_file import FORMAT, ModelFileError, container, read_model, write_model
from anystream.model_file.replace_file import LEFT_OVER, create_folder, replace_file


def array_names():
    names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
    # These are reserved, and rejected with an error.
    return names.filter(lambda name: not name.startswith("_padding_") and name != "__metadata__")


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


@pytest.mark.parametrize("step", ["os.fsync", "os.replace", "os.fchmod"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(small, monkeypatch, step, error):
    before = small.read_bytes()

    def fail(*arguments):
        raise error

    monkeypatch.setattr(step, fail)
    with pytest.raises(type(error)) as raised:
        write_model(small, kind="new", version=1, metadata={}, arrays={"x": np.ones(1000)})
    if isinstance(error, OSError):
        assert str(raised.value) == f"[Errno 28] No space left on device: '{small}'"
    assert small.read_bytes() == before
    assert os.listdir(small.parent) == [small.name]


def test_a_write_that_reads_back_otherwise_leaves_the_old_file(small, monkeypatch):
    before, encode = small.read_bytes(), container._encode

    def encode_with_a_flip(*arguments):
        *chunks, last = encode(*arguments)
        return [*chunks, bytes([last[0] ^ 1]) + bytes(last[1:])]

    monkeypatch.setattr(container, "_encode", encode_with_a_flip)
    with pytest.raises(ModelFileError, match=r"not written: read back, array 'x' differs from its checksum"):
        write_model(small, kind="new", version=1, metadata={}, arrays={"x": np.ones(1000)})
    assert small.read_bytes() == before
    assert os.listdir(small.parent) == [small.name]


def test_a_private_file_stays_private_while_it_is_replaced(tmp_path):
    target = tmp_path / "secret"
    target.write_bytes(b"old")
    target.chmod(0o600)
    modes = []

    def chunks():
        for _ in range(2):
            modes.extend(stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob(LEFT_OVER))
            yield b"new"

    replace_file(target, chunks())
    assert modes == [0o600, 0o600]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_the_temporary_file_of_a_killed_process_is_removed_by_the_next_write(tmp_path):
    script = """
import os, pathlib, signal, sys
from anystream.model_file.replace_file import replace_file
def chunks():
    yield b"new"
    os.kill(os.getpid(), signal.SIGKILL)
replace_file(pathlib.Path(sys.argv[1]), chunks())
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "model")], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(LEFT_OVER))) == 1
    replace_file(tmp_path / "other", [b"new"])
    assert os.listdir(tmp_path) == ["other"]


def test_writes_at_the_same_time_do_not_remove_the_files_of_each_other(tmp_path):
    def chunks():
        yield b"first "
        replace_file(tmp_path / "second", [b"second"])
        yield b"still first"

    replace_file(tmp_path / "first", chunks())
    assert (tmp_path / "first").read_bytes() == b"first still first"
    assert sorted(os.listdir(tmp_path)) == ["first", "second"]


def test_a_temporary_file_removed_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    lock, removed = fcntl.flock, []

    def lock_too_late(file, how):
        if not removed:
            removed.extend(tmp_path.glob(LEFT_OVER))
            removed[0].unlink()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", lock_too_late)
    replace_file(tmp_path / "model", [b"new"])
    assert (tmp_path / "model").read_bytes() == b"new"
    assert len(removed) == 1


def test_the_folder_is_synced_after_the_file_has_its_name(tmp_path, monkeypatch):
    sync, synced = os.fsync, []

    def record(descriptor):
        synced.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), (tmp_path / "model").exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    replace_file(tmp_path / "model", [b"new"])
    assert synced == [(False, False), (True, True)]


def test_the_names_of_new_folders_are_synced(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    for _ in range(2):
        create_folder(tmp_path / "a" / "b")
    assert synced == [str(tmp_path), str(tmp_path / "a")]


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


def test_an_interrupt_at_any_instruction_leaves_one_whole_file_and_no_temporary_one(tmp_path):
    target = tmp_path / "model"
    n_interrupted = 0
    while True:
        target.write_bytes(b"old")
        remaining = n_interrupted

        def interrupt(frame, event, argument):
            nonlocal remaining
            if Path(frame.f_code.co_filename).name != "replace_file.py":
                return None
            frame.f_trace_opcodes = True
            if event == "opcode":
                remaining -= 1
                if remaining == -1:
                    raise KeyboardInterrupt
            return interrupt

        before = sys.gettrace()
        sys.settrace(interrupt)
        try:
            replace_file(target, [b"new"])
            break
        except KeyboardInterrupt:
            n_interrupted += 1
        finally:
            sys.settrace(before)
        assert [path.name for path in tmp_path.iterdir()] == ["model"]
        assert target.read_bytes() in (b"old", b"new")
    assert n_interrupted > 100
    assert target.read_bytes() == b"new"
