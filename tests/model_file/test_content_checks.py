"""Checks of the arrays and the metadata of a model file."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from anystream.model_file import (
    ArraySpec,
    ModelFile,
    ModelFileError,
    check_arrays,
    checks,
    require_kind,
    require_metadata,
)


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


def test_missing_and_unexpected_arrays_are_rejected():
    specs = {"a": ArraySpec("float64", ("n",))}
    with pytest.raises(ModelFileError, match=r"m.safetensors: the arrays \['a'\] are missing; restore"):
        check_arrays(a_model(), specs)
    with pytest.raises(ModelFileError, match=r"it has unexpected arrays, \['b', 'c'\]"):
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
            r"decreases from 2 to 1 at index \(2\), allowed is to stay or increase;",
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
    with pytest.raises(ValueError, match="uses 'm', which does not occur in a shape; pass it in sizes") as caught:
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
        (("absent", int), {}, "metadata 'absent' is missing"),
    ]
    for (key, expected), limits, message in faults:
        with pytest.raises(ModelFileError, match="^m.safetensors: " + message + "; restore"):
            require_metadata(model, key, expected, **limits)
    for unsupported in (tuple, dict[str, int], int | None):
        with pytest.raises(TypeError, match="use bool, int, float, str, list, dict or list"):
            require_metadata(model, "i", unsupported)
