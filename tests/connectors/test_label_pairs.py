from anystream.connectors.json_lines import JsonLinesSource
from anystream.connectors.label_pairs import LabelPairs
from anystream.connectors.memory import MemorySource
from anystream.connectors.schema import Schema


def test_pairs_are_read_with_their_places(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_text('{"key": 1, "label": 0}\n{"key": 2}\n{"label": 1}\nno JSON\n{"key": "b", "label": 1}\n')
    pairs = LabelPairs(JsonLinesSource(path, Schema((), label="label", key="key", label_type="int")))
    labels, rejected = pairs.poll(10)
    assert labels == [(1, 0, 0, 1), (2, None, 23, 2), (None, 1, 34, 3), ("b", 1, 55, 5)]
    assert [(found.reason, found.line) for found in rejected] == [("the line is not JSON", 4)]
    assert pairs.done


def test_pairs_can_be_read_again():
    pairs = LabelPairs(MemorySource([[0.0]] * 4, [1, 2, 3, 4]))
    assert [late[:2] for late in pairs.poll(2).labels] == [(0, 1), (1, 2)]
    offset = pairs.offset
    assert [late[:2] for late in pairs.poll(2).labels] == [(2, 3), (3, 4)]
    pairs.seek(offset)
    assert [late[:2] for late in pairs.poll(1).labels] == [(2, 3)]
