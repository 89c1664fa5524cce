import numpy as np
import pytest

from anystream.connectors.json_lines import JsonLinesSource, read_json_columns
from anystream.connectors.schema import Column, Schema, SchemaError
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
    source = JsonLinesSource(path, Schema((Column("a"),)))
    records, rejected = source.poll(100)
    assert records.features[:, 0].tolist() == [row for row in range(20) if row != 13]
    assert records.line.tolist() == [row + 1 for row in range(20) if row != 13]
    (found,) = rejected
    assert (found.line, found.record) == (14, '{"a": 13}')
    assert "thirteen" in found.reason
