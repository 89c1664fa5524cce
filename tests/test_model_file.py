"""Model files: what is written comes back, and what is damaged is refused with ModelFileError alone."""

import importlib.util
import json
import os
import stat
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from anystream.model_file import (
    FORMAT,
    ArraySpec,
    ModelFile,
    ModelFileError,
    check_arrays,
    checks,
    container,
    read_model,
    require_kind,
    require_metadata,
    strict_json,
    write_model,
)

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
FUZZER = Path(__file__).with_name("fuzz_model_file.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def small(tmp_path):
    """A small model with several dtypes, and the bytes of its file."""
    path = tmp_path / "small.safetensors"
    arrays = {
        "mean": np.array([[1.5, -2.0]], np.float32),
        "first": np.array([0, 1, 3], np.int32),
        "flag": np.array([True, False, True]),
        "count": np.array(7, np.uint64),
    }
    write_model(path, kind="tree", version=3, metadata={"labels": ["a", "ü"], "d": 2}, arrays=arrays)
    return path


def json_values():
    numbers = st.integers(-(10**90), 10**90) | st.floats(allow_nan=False, allow_infinity=False)
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    leaves = st.none() | st.booleans() | numbers | text | st.sampled_from(['[{"', "\\", '\\"', "\\\\]"])
    return st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=8)


@st.composite
def any_arrays(draw):
    """An array of any dtype, byte order, shape and strides."""
    dtype = np.dtype(draw(st.sampled_from("<>")) + draw(st.sampled_from(DTYPES)))
    array = draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)))
    change = draw(st.sampled_from([lambda a: a, np.transpose, lambda a: a[..., ::-1] if a.ndim else a]))
    return change(array)


def same(array, other):
    """Equal in dtype (but for the byte order), shape and every bit."""
    native = np.asarray(other, other.dtype.newbyteorder("<"))
    return array.dtype == native.dtype and array.shape == other.shape and array.tobytes() == native.tobytes()


def described(content):
    arrays = {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in content.arrays.items()}
    return content.kind, content.version, content.metadata, arrays


# Writing and reading


def array_names():
    names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
    return names.filter(lambda name: not name.startswith("_padding_"))  # reserved, and refused with a word


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
def test_a_foreign_safetensors_file_is_refused_for_its_missing_kind(tmp_path, fields):
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


def test_a_write_into_a_missing_folder_or_onto_a_folder_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"create it first: .*absent"):
        write_model(tmp_path / "absent" / "m", kind="k", version=1, metadata={}, arrays={})
    with pytest.raises(ModelFileError, match="there is a folder or a device of this name; name a file"):
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


# Damage


def test_a_file_cut_short_anywhere_or_too_long_is_refused(small):
    data = small.read_bytes()
    for damaged in [data[:length] for length in range(len(data))] + [data + b"\0"]:
        small.write_bytes(damaged)
        for mmap in (True, False):
            with pytest.raises(ModelFileError, match=r"small.safetensors: "):
                read_model(small, mmap=mmap)


def test_a_flip_in_the_header_is_refused_or_changes_nothing(small):
    data = small.read_bytes()
    before = described(read_model(small))
    payload = 8 + int.from_bytes(data[:8], "little")
    accepted = 0
    for position in range(payload):
        for change in (
            1,
            2,
            4,
            8,
            16,
            32,
            64,
            128,
            0x2A,
            0x29,
            0xFF,
        ):  # 0x2A and 0x29 turn a space into \n, \t
            damaged = bytearray(data)
            damaged[position] ^= change
            small.write_bytes(damaged)
            try:
                assert described(read_model(small)) == before
                accepted += 1
            except ModelFileError:
                pass
    assert 0 < accepted < 0.05 * payload * 11  # other white space, other spelling of an escape


def test_a_flip_in_the_payload_is_found_by_verify(small):
    data = small.read_bytes()
    for position in range(8 + int.from_bytes(data[:8], "little"), len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 16
        small.write_bytes(damaged)
        for options in ({"mmap": False}, {"verify": True}):
            with pytest.raises(ModelFileError, match=r"array '.*' differs from its checksum"):
                read_model(small, **options)
        read_model(small)
        read_model(small, mmap=False, verify=False)


def forge(path, entries, payload=b"", sign=True, **changes):
    """Write a file with right checksums and any fault in it; a change to None leaves the field out."""
    fields = {"format": FORMAT, "kind": "k", "version": "1", "metadata": "{}"}
    fields["array_checksums"] = json.dumps(dict.fromkeys(entries, "00000000"))
    fields |= {key: value for key, value in changes.items() if value is not None}
    if sign:
        described_arrays = [
            container._Entry(name, entry["dtype"], tuple(entry["shape"]), 0, 0) for name, entry in entries.items()
        ]
        fields["checksum"] = changes.get("checksum") or container._header_sum(fields, described_arrays)
    for key in [key for key, value in changes.items() if value is None]:
        fields.pop(key)
    forge_header(path, json.dumps({"__metadata__": fields, **entries}).encode(), payload)


def forge_header(path, header, payload=b""):
    header += b" " * (-len(header) % 8)
    path.write_bytes(len(header).to_bytes(8, "little") + header + payload)


def entry(dtype="U8", shape=(4,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def refused(path, message):
    for mmap in (True, False):
        with pytest.raises(ModelFileError, match=message) as caught:
            read_model(path, mmap=mmap)
        assert str(caught.value).startswith(f"{path}: ")
        assert "; " in str(caught.value)
        assert len(str(caught.value)) < 700 + len(str(path))


def test_a_forged_file_without_fault_is_read(tmp_path):
    path = tmp_path / "forged"
    forge(path, {"a": entry(), "b": entry("F32", (1,), (4, 8))}, bytes(8))
    assert {name: a.tolist() for name, a in read_model(path).arrays.items()} == {"a": [0] * 4, "b": [0.0]}
    forge(path, {"a": entry("F64", (0, 2**59), (0, 0))})
    assert read_model(path, verify=True).arrays["a"].shape == (0, 2**59)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"a": entry("F16", (2,))}, "array 'a' has dtype 'F16', allowed are BOOL, I8"),
        ({"a": entry(["U8"])}, r"array 'a' has dtype \['U8'\]"),
        ({"a": entry(shape=(-4,))}, r"array 'a' has shape \[-4\]"),
        ({"a": entry(shape=(4.0,))}, r"array 'a' has shape \[4.0\]"),
        ({"a": entry(shape=(True, 4))}, r"array 'a' has shape \[True, 4\]"),
        ({"a": entry(shape=(2**63, 0), offsets=(0, 0))}, r"array 'a' has shape \[9223372036854775808, 0\]"),
        ({"a": entry(shape=(1,) * 33, offsets=(0, 1))}, "instead of up to 32 sizes"),
        ({"a": entry(shape=(2**33, 2**31))}, "more than 9223372036854775807 bytes"),  # 0 in 64 bits
        ({"a": entry("F64", (0, 2**60), (0, 0))}, "more than 9223372036854775807 bytes"),
        ({"a": entry(shape=(3,))}, r"bytes 0 to 4 for shape \[3\] of U8"),
        ({"a": entry(offsets=(0, 4, 8))}, r"data_offsets \[0, 4, 8\] instead of two sizes"),
        ({"a": entry(offsets=(-4, 0))}, r"data_offsets \[-4, 0\] instead of two sizes"),
        ({"a": entry(offsets=(0.0, 4))}, r"data_offsets \[0.0, 4\] instead of two sizes"),
        ({"a": entry(offsets=(4, 0))}, "bytes 4 to 0 for shape"),
        ({"a": entry(offsets=(0, 4)), "b": entry(offsets=(2, 6))}, "array 'b' begins at byte 2 instead of 4"),
        ({"a": entry(offsets=(0, 4)), "b": entry(offsets=(0, 4))}, "array 'b' begins at byte 0 instead of 4"),
        ({"a": entry(offsets=(4, 8))}, "array 'a' begins at byte 4 instead of 0"),
        ({"a": entry(offsets=(0, 4))}, "its arrays have 4 bytes and its payload 8"),
        ({"a": entry(shape=(12,), offsets=(0, 12))}, "its arrays have 12 bytes and its payload 8"),
        ({}, "its arrays have 0 bytes and its payload 8"),
        ({"a": entry(), "b": entry("I16", (2,), (4, 8)), "c": entry("I16", (0,), (5, 5))}, "instead of"),
        (
            {
                "a": entry(shape=(1,), offsets=(0, 1)),
                "b": entry("I16", (3,), (1, 7)),
                "c": entry("U8", (1,), (7, 8)),
            },
            "array 'b' begins at byte 1, not at a multiple of its item size 2",
        ),
        ({"a": entry() | {"more": 1}}, "array 'a' is .* instead of dtype, shape and data_offsets"),
        ({"a" * 5000: entry("F16")}, "array 'aaa.*aaa' has dtype"),
    ],
)
def test_arrays_that_do_not_fit_the_payload_are_refused(tmp_path, entries, message):
    forge(tmp_path / "forged", entries, bytes(8))
    refused(tmp_path / "forged", message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"format": "anystream 2"},
            "format 'anystream 2', this anystream reads 'anystream 1'; upgrade anystream",
        ),
        ({"kind": None}, "no format and kind"),
        ({"kind": ""}, "kind is empty"),
        ({"version": "0"}, "version is '0'"),
        ({"version": "01"}, "version is '01'"),
        ({"version": "\u0661"}, "version is"),  # a digit, but not ours
        ({"version": "1" * 10}, "version is"),
        ({"checksum": None}, "instead of format, kind, version, metadata, array_checksums, checksum"),
        ({"author": "me"}, "instead of format, kind"),
        ({"checksum": "00000000"}, "header differs from its checksum: '00000000', expected "),
        ({"array_checksums": "{}"}, "array_checksums are {} instead of one for each array"),
        ({"array_checksums": "[]"}, r"array_checksums are \[\]"),
        ({"array_checksums": '{"a":"x","b":"x"}'}, "array_checksums are"),
        ({"metadata": "[]"}, r"its metadata is \[\] instead of an object"),
        ({"metadata": ""}, "JSON is broken"),
        ({"metadata": '{"a":NaN}'}, "'NaN', which is not finite"),
        ({"metadata": '{"a":-Infinity}'}, "'-Infinity', which is not finite"),
        ({"metadata": '{"a":1e999}'}, "'1e999', which is not finite"),
        ({"metadata": '{"a":1,"a":1}'}, "has 'a' twice"),
        ({"metadata": '{"a":' + "1" * 101 + "}"}, "a number of 101 digits, allowed are 100"),
        ({"metadata": '{"a":' + "1" * 10**6 + "}"}, "a number of 1000000 digits"),
        ({"metadata": '{"a":"\\ud800"}'}, "surrogates not allowed"),
        ({"metadata": '{"a":' + "[" * 32 + "]" * 32 + "}"}, "nested 33 deep, allowed is 32"),
        ({"metadata": "[" * 10**6}, "nested 1000000 deep, allowed is 32"),
    ],
)
def test_wrong_fields_are_refused(tmp_path, changes, message):
    forge(tmp_path / "forged", {"a": entry()}, bytes(4), **changes)
    refused(tmp_path / "forged", message)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"[]", "begins with b'\\[' instead of a brace"),
        (b' {"a":1}', "begins with b' ' instead of a brace"),
        (b"{}{}", "JSON is broken .Extra data"),
        (b'{"a"', "JSON is broken"),
        (b'{"a":"\xff"}', "not UTF-8 .invalid start byte"),
        (b'{"\\ud800":1}', "not UTF-8 .surrogates not allowed"),
        (b'{"a":' + b"[" * 10**7, "nested 10000001 deep, allowed is 3"),
        (b'{"a":' * 10**6, "nested 1000000 deep, allowed is 3"),
        (b'{"' + b'\\"' * 10**6 + b"[" * 10**6, "JSON is broken .Unterminated string"),
        (b'{"__metadata__":{},"__metadata__":{}}', "has '__metadata__' twice"),
        (b'{"a":1}', "array 'a' is 1 instead of dtype"),
        (b'{"a":' + b"9" * 5000 + b"}", "a number of 5000 digits"),
        (b'{"__metadata__":[]}', r"__metadata__ is \[\] instead of an object of strings"),
        (b'{"__metadata__":{"format":1}}', "instead of an object of strings"),
        (b"{}", "no format and kind"),
    ],
    ids=range(15),
)
def test_broken_headers_are_refused(tmp_path, header, message):
    forge_header(tmp_path / "forged", header)
    refused(tmp_path / "forged", message)


@pytest.mark.parametrize("length", [0, 1, 7, 9, 2**24 + 8, 2**31, 2**32 + 8, 2**63 - 8, 2**63, 2**64 - 8])
def test_a_hostile_header_length_is_refused_and_not_allocated(tmp_path, length):
    path = tmp_path / "forged"
    path.write_bytes(length.to_bytes(8, "little") + b"{}      ")
    refused(path, f"of its 16 bytes it takes {length} for the header, allowed are multiples of 8 up to 16777216")


def test_a_header_over_the_limit_is_refused_even_if_it_is_there(tmp_path):
    forge_header(tmp_path / "forged", b"{}" + b" " * 2**24)
    refused(tmp_path / "forged", "takes 16777224 for the header")


def test_many_distinct_keys_and_one_twice_take_no_quadratic_time(tmp_path):
    keys = b",".join(b'"%d":0' % i for i in range(300_000))
    forge_header(tmp_path / "forged", b"{" + keys + b',"299999":0}')
    refused(tmp_path / "forged", "has '299999' twice")


@given(data=st.binary(max_size=300), length=st.integers(0, 300), brace=st.booleans())
def test_arbitrary_bytes_are_refused(folder, data, length, brace):
    path = folder / "noise"
    path.write_bytes(length.to_bytes(8, "little") + b"{" * brace + data)
    for candidate in (data, path.read_bytes()):
        path.write_bytes(candidate)
        with pytest.raises(ModelFileError):
            read_model(path)


wild = st.integers(-1, 70) | st.sampled_from([2**31, 2**32, 2**62, 2**63, 2**64]) | json_values()
near_entries = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["U8", "BOOL", "F32", "I64", "F16"]) | wild,
        "shape": st.lists(st.integers(0, 9), max_size=3) | st.lists(wild, max_size=3) | wild,
        "data_offsets": st.tuples(st.integers(0, 16), st.integers(0, 16)) | st.lists(wild, max_size=3) | wild,
    },
    optional={"more": wild},
)


@given(
    entries=st.dictionaries(st.sampled_from(["a", "b", "_padding_0"]), near_entries | wild, max_size=3),
    payload=st.binary(max_size=16),
    metadata=json_values(),
    mmap=st.booleans(),
)
def test_headers_that_are_nearly_right_are_refused_or_read_as_they_say(folder, entries, payload, metadata, mmap):
    path = folder / "nearly"
    try:
        forge(path, entries, payload, metadata=json.dumps(metadata))
    except (TypeError, KeyError, AttributeError):  # too wild to be signed
        forge(path, entries, payload, sign=False, metadata=json.dumps(metadata))
    try:
        content = read_model(path, mmap=mmap, verify=False)
    except ModelFileError:
        return
    assert content.metadata == metadata
    for name, array in content.arrays.items():
        assert list(array.shape) == entries[name]["shape"]
        assert array.tobytes() == payload[slice(*entries[name]["data_offsets"])]


@given(value=json_values())
def test_depth_is_counted_as_by_recursion(value):
    def depth(node):
        children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else None
        return 0 if children is None else 1 + max(map(depth, children), default=0)

    assert strict_json.depth_of(json.dumps(value).encode()) == depth(value)


# Checks of arrays and metadata


def a_model(metadata=(), **arrays):
    return ModelFile(Path("m.safetensors"), "tree", 2, dict(metadata), arrays)


def test_sizes_are_bound_once_and_must_agree():
    specs = {
        "mean": ArraySpec("float32", ("entries", "d")),
        "first": ArraySpec("int32", ("nodes+1",)),
        "parent": ArraySpec("int32", ("nodes-1", 2)),
    }
    fit = {"mean": np.ones((4, 3), "f4"), "first": np.zeros(6, "i4"), "parent": np.zeros((4, 2), "i4")}
    arrays, sizes = check_arrays(a_model(**fit), specs, sizes={"d": 3})
    assert list(arrays) == list(specs)
    assert all(arrays[name] is fit[name] for name in specs)
    assert sizes == {"d": 3, "entries": 4, "nodes": 5}
    faults = {
        r"'mean' has shape \(4, 3\), expected \(entries, d\), d = 2, entries = 4;": ({}, {"d": 2}),
        r"'mean' has shape \(4,\), expected \(entries, d\)": ({"mean": np.ones(4, "f4")}, {}),
        r"'mean' has dtype float64, expected float32": ({"mean": np.ones((4, 3))}, {}),
        r"'parent' has shape \(5, 2\), expected \(nodes-1, 2\), nodes = 5": (
            {"parent": np.zeros((5, 2), "i4")},
            {},
        ),
        r"'parent' has shape \(4, 3\), expected \(nodes-1, 2\)": ({"parent": np.zeros((4, 3), "i4")}, {}),
        r"'first' has shape \(0,\), expected \(nodes\+1,\), nodes = 0": ({"first": np.zeros(0, "i4")}, {}),
    }
    for message, (change, given_sizes) in faults.items():
        with pytest.raises(ModelFileError, match=r"^m.safetensors: array .*" + message):
            check_arrays(a_model(**fit | change), specs, sizes=given_sizes)


def test_missing_and_unexpected_arrays_are_refused():
    specs = {"a": ArraySpec("float64", ("n",))}
    with pytest.raises(ModelFileError, match=r"m.safetensors: it lacks the arrays \['a'\]; restore"):
        check_arrays(a_model(), specs)
    with pytest.raises(ModelFileError, match=r"it has arrays that do not belong, \['b', 'c'\]"):
        check_arrays(a_model(a=np.ones(2), c=np.ones(2), b=np.ones(2)), specs)


@pytest.mark.parametrize(
    ("array", "spec", "message"),
    [
        (np.array([[0, 1], [4, -1]]), {"low": 0}, r"has -1 at index \(1, 1\), allowed is from 0;"),
        (np.array([0, 5, 6]), {"low": 0, "high": "n"}, r"has 5 at index \(1\), allowed is from 0 to 3;"),
        (np.array([0, 3, 1]), {"high": "n-1"}, r"has 3 at index \(1\), allowed is to 2;"),
        (np.array([0.5, np.nan]), {"low": 0, "high": 1}, r"has nan at index \(1\), allowed is from 0 to 1;"),
        (np.array([0.5, np.nan]), {"low": 0}, r"has nan at index \(1\)"),
        (np.array([0.5, np.nan]), {"high": 0.5}, r"has nan at index \(1\)"),
        (np.array([0.5, np.inf]), {"finite": True}, r"has inf at index \(1\), allowed is finite;"),
        (np.array([-np.inf, np.nan], "f4"), {"finite": True}, r"has -inf at index \(0\)"),
        (np.array([np.nan]), {"sorted": True}, r"has nan at index \(0\), allowed is any number;"),
        (np.array([0.0, -0.0]), {"low": sys.float_info.min}, r"has 0.0 at index \(0\)"),
        (
            np.array([0, 2, 1]),
            {"sorted": True},
            r"falls from 2 to 1 at index \(2\), allowed is to stay or rise;",
        ),
        (np.array([2**64 - 1], "u8"), {"high": 2**63}, r"has 18446744073709551615 at index \(0\)"),
        (np.array([2**53 + 1]), {"high": 2**53}, r"has 9007199254740993 at index \(0\)"),  # equal as floats
        (np.array(3), {"high": 2}, r"has 3 at index \(\), allowed is to 2;"),
        (np.array([0, 2], np.uint8).view(bool), {}, r"has 2 at index \(1\), allowed is from 0 to 1;"),
    ],
)
def test_a_value_out_of_range_is_named(array, spec, message):
    shape = ("n", *array.shape[1:]) if array.ndim else ()
    specs = {"index": ArraySpec(array.dtype.name, shape, **spec)}
    with pytest.raises(ModelFileError, match=r"^m.safetensors: array 'index' " + message):
        check_arrays(a_model(index=array), specs)


@given(
    values=hnp.arrays(np.int8, st.integers(0, 40), elements=st.integers(-3, 3)),
    low=st.none() | st.integers(-3, 3),
    high=st.none() | st.integers(-3, 3),
    ordered=st.booleans(),
    chunk=st.integers(1, 9),
)
def test_values_pass_exactly_if_they_should_whatever_the_chunks(values, low, high, ordered, chunk):
    right = all((low is None or v >= low) and (high is None or v <= high) for v in values.tolist())
    right &= not ordered or values.tolist() == sorted(values.tolist())
    spec = ArraySpec("int8", ("n",), low=low, high=high, sorted=ordered)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "_CHUNK", chunk)
        try:
            check_arrays(a_model(x=values), {"x": spec})
        except ModelFileError:
            assert not right
        else:
            assert right


def test_ranges_may_use_sizes_of_later_arrays_and_empty_arrays_pass():
    specs = {
        "index": ArraySpec("int32", ("n",), low=0, high="entries-1"),
        "x": ArraySpec("float64", ("entries",)),
    }
    check_arrays(a_model(index=np.array([0, 2], "i4"), x=np.full(3, np.nan)), specs)
    check_arrays(a_model(index=np.empty(0, "i4"), x=np.empty(0)), specs)
    with pytest.raises(ModelFileError, match=r"has 0 at index \(0\), allowed is from 0 to -1;"):
        check_arrays(a_model(index=np.zeros(1, "i4"), x=np.empty(0)), specs)


def test_a_wrong_spec_is_an_error_of_the_caller():
    for shape in (("2n",), ("n*2",), ("n +1",), ("",)):
        with pytest.raises(ValueError, match=r"size is .*; write a name"):
            ArraySpec("int32", shape)
    with pytest.raises(ValueError, match="size is '<n'"):
        ArraySpec("int32", ("n",), high="<n")
    with pytest.raises(ValueError, match="dtype is 'complex64'; use one of bool, int8"):
        ArraySpec("complex64", ("n",))
    with pytest.raises(ValueError, match="sorted needs one axis"):
        ArraySpec("int32", ("n", 2), sorted=True)
    with pytest.raises(ValueError, match="uses 'm', which no shape has; pass it in sizes") as caught:
        check_arrays(a_model(x=np.ones(2)), {"x": ArraySpec("float64", ("n",), high="m")})
    assert not isinstance(caught.value, ModelFileError)


def test_kind_and_version_are_demanded():
    require_kind(a_model(), "tree", range(1, 3))
    with pytest.raises(
        ModelFileError, match=r"m.safetensors: holds a model of kind 'tree'; load it as such, not 'graph'"
    ):
        require_kind(a_model(), "graph", range(1, 3))
    newer = r"written by a newer anystream \(version 2, this one reads 1 to 1\); upgrade"
    with pytest.raises(ModelFileError, match=newer):
        require_kind(a_model(), "tree", [1])
    with pytest.raises(
        ModelFileError, match=r"written by an older anystream \(version 2, this one reads 3 to 5\); fit"
    ):
        require_kind(a_model(), "tree", range(3, 6))


def test_metadata_has_the_type_and_range_demanded():
    metadata = {
        "i": 3,
        "f": 0.5,
        "b": True,
        "s": "max",
        "l": ["a", "b"],
        "d": {"k": 1},
        "n": None,
        "mixed": [1, 0.5],
    }
    model = a_model(metadata)
    assert require_metadata(model, "i", int, allowed=range(2, 9)) == 3
    assert repr(require_metadata(model, "i", float)) == "3.0"
    assert require_metadata(model, "f", float, low=0.5, high=0.5) == 0.5
    assert require_metadata(model, "b", bool) is True
    assert require_metadata(model, "s", str, allowed=("max", "mean")) == "max"
    assert require_metadata(model, "l", list[str], allowed="abc") == ["a", "b"]
    assert require_metadata(model, "l", list) == ["a", "b"]
    assert require_metadata(model, "d", dict) == {"k": 1}
    assert repr(require_metadata(model, "mixed", list[float], low=0)) == "[1.0, 0.5]"
    faults = [
        (("b", int), {}, "metadata 'b' has True, expected int"),
        (("i", bool), {}, "metadata 'i' has 3, expected bool"),
        (("f", int), {}, "metadata 'f' has 0.5, expected int"),
        (("n", str), {}, "metadata 'n' has None, expected str"),
        (("s", list[str]), {}, "metadata 's' has 'max', expected a list"),
        (("mixed", list[int]), {}, "metadata 'mixed' has 0.5, expected int"),
        (("i", int), {"allowed": range(4, 9)}, r"metadata 'i' has 3, allowed is range\(4, 9\)"),
        (("i", int), {"low": 4}, "metadata 'i' has 3, allowed is from 4"),
        (("f", float), {"low": 0, "high": 0.25}, "metadata 'f' has 0.5, allowed is from 0 to 0.25"),
        (("mixed", list[float]), {"high": 0.75}, "metadata 'mixed' has 1.0, allowed is to 0.75"),
        (("absent", int), {}, "metadata lacks 'absent'"),
    ]
    for (key, expected), limits, message in faults:
        with pytest.raises(ModelFileError, match="^m.safetensors: " + message + "; restore"):
            require_metadata(model, key, expected, **limits)
    for unsupported in (tuple, dict[str, int], int | None):
        with pytest.raises(TypeError, match="use bool, int, float, str, list, dict or list"):
            require_metadata(model, "i", unsupported)


# The fuzzer


@pytest.fixture
def fuzzer():
    spec = importlib.util.spec_from_file_location("fuzz_model_file", FUZZER)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_some_hundred_damaged_files_give_no_finding(fuzzer, tmp_path):
    campaign = fuzzer.Campaign(tmp_path)
    campaign.run(seed=1, executions=600)
    assert campaign.findings == {}
    assert campaign.executions == 600
    assert 200 < campaign.refused < 550  # else it is no search


def test_the_fuzzer_finds_a_loader_that_trusts_its_file(fuzzer, tmp_path):
    def trusting(path):
        arrays = read_model(path).arrays
        arrays["mean"][arrays["first"][1:] - 1]

    fuzzer.SEEDS[:], fuzzer.TARGETS[:] = [fuzzer.write_csr], [trusting]
    campaign = fuzzer.Campaign(tmp_path)
    campaign.run(seed=1, executions=300)
    assert any("IndexError" in finding for finding in campaign.findings)
    assert all(path.exists() for path in campaign.findings.values())
    assert campaign.close(seed=1) == 1


def test_the_fuzzer_repeats_itself_by_seed(fuzzer):
    rng, again = fuzzer.random.Random(5), fuzzer.random.Random(5)
    data = b"\x08\0\0\0\0\0\0\0{}      "
    assert [fuzzer.mutate(data, rng) for _ in range(50)] == [fuzzer.mutate(data, again) for _ in range(50)]


def test_the_fuzzer_runs_as_a_script():
    command = [sys.executable, str(FUZZER), "--seconds", "0.5", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert " 0 findings, seed 7" in done.stdout.splitlines()[-1]
