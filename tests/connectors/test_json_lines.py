import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.connectors.json_lines import JsonLinesSource, read_json_columns
from anystream.connectors.schema import Column, Schema, SchemaError
from connectors.table_sources import SCHEMA, drain, poll_all


def test_json_lines_may_lack_members_and_malformed_ones_are_rejected(tmp_path):
    path = tmp_path / "stream.jsonl"
    lines = [
        '{"id": 1, "x": 2.5, "colour": "red", "y": 1, "else": []}',
        '{"id": 2, "x": null, "y": 0}',
        '{"id": 3, "x": "word"}',
        "[1, 2]",
        '{"id": 4, "x": 1',
        '{"id": 5, "x": 1} {"id": 6}',
        '{"id": 7, "x": {"deep": 1}}',
        "[" * 100_000,
        '{"id": 8, "x": 1e999}',
    ]
    path.write_text("\n".join(lines))
    records, rejected = drain(JsonLinesSource(path, SCHEMA))
    assert [key for key, _, _ in records] == [1, 2]
    np.testing.assert_array_equal([x for _, x, _ in records], [[2.5, 0, 1], [np.nan] * 3])
    assert [found.line for found in rejected] == [3, 4, 5, 6, 7, 8, 9]
    assert rejected[2].reason == "the line is not JSON"
    assert "put one record on each line" in rejected[3].reason


def test_a_training_table_of_json_lines_has_every_member_as_a_column(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n\n{"b": 2}\n{"a": 3, "b": 4}\n')
    assert read_json_columns(path) == {"a": [1, None, 3], "b": [None, 2, 4]}
    assert read_json_columns(path, max_records=1) == {"a": [1]}
    path.write_text('{"a": 1}\n{"a"\n')
    with pytest.raises(SchemaError, match="line 2: the line is not JSON; correct the file"):
        read_json_columns(path)


@pytest.mark.parametrize("error", [ArithmeticError, KeyError, RecursionError, RuntimeError, TypeError, ValueError])
def test_a_cell_that_raises_an_unexpected_error_rejects_its_record_alone(tmp_path, monkeypatch, error):
    from anystream.connectors import schema as schema_module

    parse_numbers = schema_module.parse_numbers

    def fail(name, cells, errors):
        if 13 in cells:
            raise error("thirteen")
        return parse_numbers(name, cells, errors)

    monkeypatch.setattr(schema_module, "parse_numbers", fail)
    path = tmp_path / "records.jsonl"
    path.write_text("".join(f'{{"a": {row}}}\n' for row in range(20)))
    source = JsonLinesSource(path, Schema((Column("a"),)), rename={"b": "a"})  # else native code reads the numbers
    records, rejected = source.poll(100)
    assert records.features[:, 0].tolist() == [row for row in range(20) if row != 13]
    assert records.line.tolist() == [row + 1 for row in range(20) if row != 13]
    (found,) = rejected
    assert (found.line, found.record) == (14, '{"a": 13}')
    assert "thirteen" in found.reason


PLAIN = {
    "numbers": Schema((Column("a"), Column("b")), label="y", time="t", label_type="int"),
    "texts": Schema((Column("a"), Column("b")), label="y", key="id", label_type="text"),
    "a feature as key": Schema((Column("a"), Column("b")), key="b"),
}
VALUES = st.one_of(
    st.integers(-5, 5),
    st.floats(),
    st.none(),
    st.sampled_from(["", "1.5", "x", "\u00e9", 'a "quote"', "\ttab", True, 2**53 + 1, 10**20, 1e300, [1], {"a": 1}]),
)
NAMES = st.sampled_from(["a", "b", "y", "t", "id", "more", "\u00e9"])
RAW_NUMBERS = ["01", "-", "1.", ".5", "+1", "1e", "-0", "0.5E+2", "1e400", "1e-400", "0x1", "NaN", "-Infinity", "nul"]
RAW_LINES = [
    b"",
    b"{}",
    b"[1]",
    b'{"a": 1, "b": 2} x',
    b'{"a": 1, "b": 2,}',
    b'{"a": 1 "b": 2}',
    b'{"a": 1, "a": 2, "b": 3}',
    b'{"a": 1, "b": 2, "more": "\xff"}',
    b'{"a": 1, "b": 2, "more": "\xed\xa0\x80"}',
    b'{"a": 1, "b": 2, "more": "\x01"}',
    b'\t{ "b" :1 ,"a":2}\r',
    b'{"a": 1, "b": 2, "id": "a',
    *(b'{"a": 1, "b": %s}' % number.encode() for number in RAW_NUMBERS),
]
LINES = st.one_of(
    st.fixed_dictionaries({"a": VALUES, "b": VALUES}, optional=dict.fromkeys(("y", "t", "id", "more"), VALUES)).map(
        lambda found: json.dumps(found, ensure_ascii=False).encode()
    ),
    st.dictionaries(NAMES, VALUES).map(lambda found: json.dumps(found).encode()),
    st.sampled_from(RAW_LINES),
)


@pytest.mark.parametrize("schema", PLAIN.values(), ids=PLAIN)
@given(st.lists(LINES, max_size=12), st.integers(1, 5))
def test_plain_objects_are_parsed_the_same_in_native_code_as_one_by_one(tmp_path_factory, schema, lines, max_records):
    path = tmp_path_factory.mktemp("json") / "stream.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    quick, slow = JsonLinesSource(path, schema), JsonLinesSource(path, schema)
    assert quick._may_be_plain
    slow._may_be_plain = False
    found, expected = poll_all(quick, max_records), poll_all(slow, max_records)
    for name in ("features", "arrival", "label", "line", "offset"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(expected[0], name))
    assert list(map(repr, found[0].key.tolist())) == list(map(repr, expected[0].key.tolist()))
    assert found[1] == expected[1]


def test_a_required_column_that_a_short_file_of_plain_objects_lacks_is_an_error(tmp_path):
    path = tmp_path / "stream.jsonl"
    path.write_text('{"a": 1, "b": 2}\n' * 5)
    schema = dataclasses.replace(PLAIN["numbers"], required=("y",))
    source = JsonLinesSource(path, schema)
    with pytest.raises(SchemaError, match="there is no column 'y' in the first 5 records; they have a, b"):
        poll_all(source, 100)
