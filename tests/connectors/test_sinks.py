import csv
import json

import numpy as np
import pytest

from anystream.connectors.file_sink import CsvSink, DeadLetterFile, JsonLinesSink
from anystream.connectors.generated import GeneratedSource
from anystream.connectors.items import Reject
from anystream.connectors.protocols import Answers
from anystream.connectors.schema import Column, Schema
from anystream.streams import SEA

CLASSES = np.array(['a "quoted", class', "plain"])


def answers(keys):
    n = len(keys)
    proba = np.tile([[0.25, 0.75]], (n, 1))
    flags = np.arange(n) % 2 == 0
    return Answers(np.array(keys), np.tile(CLASSES, n)[:n], proba, CLASSES, np.arange(n), flags, np.zeros(n), ~flags)


@pytest.mark.parametrize("proba", [False, True])
def test_json_lines_say_what_the_answers_are(tmp_path, proba):
    sink = JsonLinesSink(tmp_path / "out.jsonl", proba=proba)
    sink.write(answers(["k\n1", "k2"]))
    sink.close()
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (first["key"], first["label"], first["certified"], first["late"]) == ("k\n1", CLASSES[0], True, False)
    assert (second["confidence"], second["steps"]) == (0.75, 1)
    assert first.get("proba") == ({CLASSES[0]: 0.25, "plain": 0.75} if proba else None)


@pytest.mark.parametrize("proba", [False, True])
def test_csv_is_what_csv_readers_read(tmp_path, proba):
    sink = CsvSink(tmp_path / "out.csv", proba=proba)
    sink.write(answers([1, 2]))
    sink.write(answers([3]))
    sink.close()
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["key"] for row in rows] == ["1", "2", "3"]
    assert rows[0]["label"] == CLASSES[0]
    assert ("proba_plain" in rows[0]) == proba


@pytest.mark.parametrize("sink_class", [JsonLinesSink, CsvSink])
def test_a_file_is_cut_back_to_what_a_checkpoint_knew(tmp_path, sink_class):
    path = tmp_path / "out"
    sink = sink_class(path)
    sink.write(answers([1, 2]))
    position = sink.position()
    whole = path.read_bytes()
    sink.write(answers([3]))
    sink.close()
    again = sink_class(path, resume=True)
    again.rewind(position)
    assert path.read_bytes() == whole
    again.write(answers([4]))
    again.close()
    assert path.read_bytes().startswith(whole)
    assert b"4" in path.read_bytes()[len(whole) :]
    with pytest.raises(ValueError, match="fewer bytes than the checkpoint knows"):
        sink_class(path, resume=True).rewind(10**6)


def test_standard_output_takes_nothing_back():
    with pytest.raises(ValueError, match="cannot take back"):
        JsonLinesSink("-").rewind(0)


def test_dead_letters_say_where_and_why(tmp_path):
    sink = DeadLetterFile(tmp_path / "dead.jsonl")
    sink.write([Reject("torn", 17, 3, "k", "a,b\udcff"), Reject("shed", 5, None, np.int64(4))])
    sink.close()
    lines = (tmp_path / "dead.jsonl").read_bytes().splitlines()
    assert json.loads(lines[0].decode("utf-8", "surrogatepass"))["line"] == 3
    assert json.loads(lines[1]) == {"key": 4, "reason": "shed", "record": ""}


def test_a_generator_is_a_source_that_can_be_read_again():
    source = GeneratedSource(SEA(concepts=(8,), seed=1), 100)
    first = source.poll(60).items
    rest = source.poll(60).items
    assert (len(first), len(rest), source.done) == (60, 40, True)
    source.seek(60)
    again = source.poll(60).items
    np.testing.assert_array_equal(again.features, rest.features)
    assert again.label.tolist() == rest.label.tolist()


def test_parquet_and_arrow_are_read_and_parquet_written(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    from anystream.connectors.arrow import ArrowSource, ParquetSink, read_arrow_columns

    table = pa.table({"x": [1.0, None, 3.0], "c": ["u", "v", "w"], "y": [0, 1, 0]})
    schema = Schema((Column("x"), Column("c", ("u", "v"))), label="y", label_type="int")
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "t.arrow", compression="uncompressed")
    for name in ("t.parquet", "t.arrow"):
        source = ArrowSource(tmp_path / name, schema)
        items, rejects = source.poll(10)
        np.testing.assert_array_equal(items.features, [[1, 1, 0], [np.nan, 0, 1]])
        assert items.label.tolist() == [0, 1]
        assert [reject.offset for reject in rejects] == [2]
        assert "category" in rejects[0].reason
        assert source.done
        source.seek(1)
        assert source.poll(1).items.offset.tolist() == [1]
        assert read_arrow_columns(tmp_path / name)["y"] == [0, 1, 0]
    sink = ParquetSink(tmp_path / "out.parquet")
    sink.write(answers([1, 2]))
    sink.close()
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").column("key").to_pylist() == [1, 2]
