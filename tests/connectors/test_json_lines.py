import numpy as np
import pytest

from anystream.connectors.json_lines import JsonLinesSource, read_json_columns
from anystream.connectors.schema import SchemaError
from connectors.table_sources import SCHEMA, drain


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
