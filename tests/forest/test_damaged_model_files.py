"""A damaged or forged file raises ModelFileError or gives an ensemble with finite scores, and nothing else."""

import json
import struct
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_file_layouts import CATBOOST, LIGHTGBM_V2, xgboost_model

from anystream.forest import read_ensemble
from anystream.forest.evaluation import score_records
from anystream.forest.importers.ubjson import parse_ubjson
from anystream.model_file import ModelFileError
from anystream.model_file.errors import InvalidContent


def dump_ubjson(value):
    """Return UBJSON as XGBoost writes it: typed arrays of numbers, lengths of eight bytes."""
    if value is None or value is True or value is False:
        return {None: b"Z", True: b"T", False: b"F"}[value]
    if isinstance(value, int):
        return b"L" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"D" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"S" + _length(value.encode()) + value.encode()
    if isinstance(value, dict):
        parts = [_length(key.encode()) + key.encode() + dump_ubjson(item) for key, item in value.items()]
        return b"{" + b"".join(parts) + b"}"
    if value and {type(item) for item in value} == {float}:
        return b"[$d#" + _length(value) + np.array(value, ">f4").tobytes()
    return b"[#" + _length(value) + b"".join(map(dump_ubjson, value))


def _length(value):
    return b"L" + struct.pack(">q", len(value))


def categorical_model():
    content = xgboost_model([3, 2, 0], "[5E-1]", feature_names=["a", "b"])
    tree = content["learner"]["gradient_booster"]["model"]["trees"][0]
    tree |= {"split_type": [1, 0, 0], "categories": [0, 40], "categories_nodes": [0]}
    tree |= {"categories_segments": [0], "categories_sizes": [2]}
    content["learner"]["gradient_booster"]["model"]["cats"] = {"enc": [{}, {"type": 15, "values": list(range(41))}]}
    content["learner"]["gradient_booster"]["model"]["iteration_indptr"] = [0, 1]
    return content


FILES = {
    "lightgbm": LIGHTGBM_V2.encode(),
    "xgboost json": json.dumps(categorical_model()).encode(),
    "xgboost ubjson": dump_ubjson(categorical_model()),
    "catboost": json.dumps(CATBOOST).encode(),
}


def read_damaged(path, raw):
    path.write_bytes(raw)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            ensemble = read_ensemble(path)
        except ModelFileError:
            return False
        records = np.zeros((2, min(ensemble.n_features, 100)))
        if len(ensemble.feature) and ensemble.feature.max() < records.shape[1]:
            records[1] = np.nan
            assert np.isfinite(score_records(ensemble, records)).all()
    return True


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged") / "model"


@pytest.mark.parametrize("name", FILES)
def test_the_undamaged_files_are_read(path, name):
    assert read_damaged(path, FILES[name])


@pytest.mark.parametrize("name", ["xgboost json", "xgboost ubjson", "catboost"])
def test_a_file_cut_short_anywhere_is_rejected(path, name):
    raw = FILES[name]
    for length in range(0, len(raw), 7):
        assert not read_damaged(path, raw[:length])


def test_a_text_of_lightgbm_that_is_cut_short_is_rejected_up_to_its_last_tree(path):
    raw = FILES["lightgbm"]
    for length in range(raw.index(b"cat_threshold")):
        assert not read_damaged(path, raw[:length])


@pytest.mark.parametrize("name", FILES)
@given(changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=4)), min_size=1, max_size=3))
def test_changed_bytes_raise_nothing_else(path, name, changes):
    raw = bytearray(FILES[name])
    for place, replacement in changes:
        position = int(place * len(raw))
        raw[position : position + len(replacement)] = replacement
    read_damaged(path, bytes(raw))


odd_numbers = st.sampled_from(
    [0, -1, 1, 2, 3, 31, 2**31, 2**53, 2**63, -(2**63), 10**30, 0.5, -0.5, 1e30, 1e300, -1e300]
)
odd_values = st.one_of(
    odd_numbers,
    st.sampled_from(
        ["", "1", "-1", "99999999999", "[1e400]", "[[1]]", "x", None, True, [], {}, [[]], [None], [{}], "[" * 2000]
    ),
    st.lists(odd_numbers, max_size=4),
)


def places(content, prefix=()):
    """Return the paths of all values."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [prefix, *(place for key, value in items for place in places(value, (*prefix, key)))]


@pytest.mark.parametrize("content", [categorical_model(), CATBOOST], ids=["xgboost", "catboost"])
@given(draw=st.data())
def test_forged_values_raise_nothing_else(path, content, draw):
    forged = json.loads(json.dumps(content))
    for _ in range(draw.draw(st.integers(1, 2))):
        *parents, last = draw.draw(st.sampled_from(places(forged)[1:]))
        target = forged
        for key in parents:
            target = target[key]
        target[last] = draw.draw(odd_values)
    read_damaged(path, json.dumps(forged).encode())


@pytest.mark.parametrize("content", [categorical_model(), CATBOOST], ids=["xgboost", "catboost"])
def test_every_value_may_be_anything_without_another_error(path, content):
    for place in places(content)[1:]:
        for value in (None, -1, 2**40, 1e300, "x", "1", [], {}, [1], ["x"]):
            forged = json.loads(json.dumps(content))
            target = forged
            for key in place[:-1]:
                target = target[key]
            target[place[-1]] = value
            read_damaged(path, json.dumps(forged).encode())


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, width=32)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(value=json_values)
def test_ubjson_is_read_as_it_was_written(value):
    def as_lists(found):
        if isinstance(found, dict):
            return {key: as_lists(item) for key, item in found.items()}
        return [as_lists(item) for item in found] if isinstance(found, (list, np.ndarray)) else found

    assert as_lists(parse_ubjson(dump_ubjson(value))) == value


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"[$d#L\x7f\xff\xff\xff\xff\xff\xff\xff", "truncated"),
        (b"[#L\x7f\xff\xff\xff\xff\xff\xff\xff", "array of 9223372036854775807 values"),
        (b"[$d#i\xff", "truncated or malformed"),
        (b"SL\xff\xff\xff\xff\xff\xff\xff\xff", "truncated or malformed"),
        (b"[" * 100, "nested deeper than 64"),
        (b"{i\x01aTi\x01aT}", "'a' twice"),
        (b"[$S#i\x01", "array of type"),
        (b"{$i#i\x01", "object of one type"),
        (b"H", "marker"),
        (b"Si\x01\xff", "not UTF-8"),
        (b"TT", "ends at byte 1 of 2"),
        (b"[#d\x00\x00\x00\x00", "length of type"),
    ],
)
def test_malformed_ubjson_is_rejected_without_allocating(raw, message):
    with pytest.raises(InvalidContent, match=message):
        parse_ubjson(raw)
