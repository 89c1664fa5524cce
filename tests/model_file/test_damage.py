"""Damaged model files raise ModelFileError and nothing else."""

import json

import pytest
from cases import described, json_values
from hypothesis import given
from hypothesis import strategies as st

from anystream.model_file import FORMAT, ModelFileError, container, read_model, strict_json


def test_a_file_cut_short_anywhere_or_too_long_is_rejected(small):
    data = small.read_bytes()
    for damaged in [data[:length] for length in range(len(data))] + [data + b"\0"]:
        small.write_bytes(damaged)
        for mmap in (True, False):
            with pytest.raises(ModelFileError, match=r"small.safetensors: "):
                read_model(small, mmap=mmap)


def test_a_flip_in_the_header_is_rejected_or_changes_nothing(small):
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


def test_a_flip_in_the_payload_is_found_unless_verification_is_declined(small):
    data = small.read_bytes()
    for position in range(8 + int.from_bytes(data[:8], "little"), len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 16
        small.write_bytes(damaged)
        for mmap in (True, False):
            with pytest.raises(ModelFileError, match=r"array '.*' differs from its checksum"):
                read_model(small, mmap=mmap)
            read_model(small, mmap=mmap, verify=False)


def payload_sum(entry, payload):
    """The checksum of an array, whatever is wrong with its entry."""
    try:
        return container._array_sum([payload[slice(*entry["data_offsets"])]])
    except (TypeError, KeyError, ValueError):
        return "00000000"


def forge(path, entries, payload=b"", sign=True, **changes):
    """Write a file with right checksums and any fault in it; a change to None leaves the field out."""
    fields = {"format": FORMAT, "kind": "k", "version": "1", "metadata": "{}"}
    fields["array_checksums"] = json.dumps({name: payload_sum(entry, payload) for name, entry in entries.items()})
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


def assert_rejected(path, message):
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
def test_arrays_that_do_not_fit_the_payload_are_rejected(tmp_path, entries, message):
    forge(tmp_path / "forged", entries, bytes(8))
    assert_rejected(tmp_path / "forged", message)


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
def test_wrong_fields_are_rejected(tmp_path, changes, message):
    forge(tmp_path / "forged", {"a": entry()}, bytes(4), **changes)
    assert_rejected(tmp_path / "forged", message)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"[]", "is not an anystream model, it begins with"),
        (b' {"a":1}', "is not an anystream model, it begins with"),
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
def test_broken_headers_are_rejected(tmp_path, header, message):
    forge_header(tmp_path / "forged", header)
    assert_rejected(tmp_path / "forged", message)


@pytest.mark.parametrize("length", [0, 1, 7, 9, 2**24 + 8, 2**31, 2**32 + 8, 2**63 - 8, 2**63, 2**64 - 8])
def test_a_hostile_header_length_is_rejected_and_not_allocated(tmp_path, length):
    path = tmp_path / "forged"
    path.write_bytes(length.to_bytes(8, "little") + b"{}      ")
    assert_rejected(
        path, f"of its 16 bytes it takes {length} for the header, allowed are multiples of 8 up to 16777216"
    )


def test_a_header_over_the_limit_is_rejected_even_if_it_is_there(tmp_path):
    forge_header(tmp_path / "forged", b"{}" + b" " * 2**24)
    assert_rejected(tmp_path / "forged", "takes 16777224 for the header")


def test_many_distinct_keys_and_one_twice_take_no_quadratic_time(tmp_path):
    keys = b",".join(b'"%d":0' % i for i in range(300_000))
    forge_header(tmp_path / "forged", b"{" + keys + b',"299999":0}')
    assert_rejected(tmp_path / "forged", "has '299999' twice")


@given(data=st.binary(max_size=300), length=st.integers(0, 300), brace=st.booleans())
def test_arbitrary_bytes_are_rejected(folder, data, length, brace):
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
def test_headers_that_are_nearly_right_are_rejected_or_read_as_they_say(folder, entries, payload, metadata, mmap):
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
