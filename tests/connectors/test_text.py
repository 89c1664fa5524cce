import json
import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.connectors.csv_file import CsvSource, read_csv_columns
from anystream.connectors.json_lines import JsonLinesSource
from anystream.connectors.lines import LineReader
from anystream.connectors.schema import Column, Schema, SchemaError

SCHEMA = Schema((Column("x"), Column("colour", ("blue", "red"))), label="y", key="id", label_type="int")


def drain(source, most=3):
    items, rejects = [], []
    while not source.done:
        polled = source.poll(most)
        items.extend(zip(polled.items.key.tolist(), polled.items.features.tolist(), polled.items.label, strict=True))
        rejects.extend(polled.rejects)
    return items, rejects


def csv_source(tmp_path, text, **options):
    path = tmp_path / "stream.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return CsvSource(path, SCHEMA, **options)


def test_csv_cells_become_features_and_labels(tmp_path):
    items, rejects = drain(csv_source(tmp_path, "id;x;colour;y;more\na;1.5;red;1;?\nb;;blue;0;?\nc;3;?;;?\n"))
    assert rejects == []
    assert [key for key, _, _ in items] == ["a", "b", "c"]
    np.testing.assert_array_equal([x for _, x, _ in items], [[1.5, 0, 1], [np.nan, 1, 0], [3, np.nan, np.nan]])
    assert [label for _, _, label in items] == [1, 0, None]


def test_bad_csv_records_are_rejected_with_line_and_reason_and_the_stream_goes_on(tmp_path):
    text = (
        b"id,x,colour,y\n"
        b"a,1,red,1\n"
        b"b,1,red\n"  # a field is missing
        b"c,one,red,1\n"
        b"d,1,green,1\n"
        b"e,1,red,yes\n"
        b"f,inf,red,1\n"
        b"\xff\xfe,1,red,1\n"
        b"\n" + b"g," + b"9" * 3000 + b",red,1\n"
        b'h,1,"re\n'  # a quote that is never closed
        b"i,2,blue,0"
    )
    items, rejects = drain(csv_source(tmp_path, text, longest=1000))
    assert [key for key, _, _ in items] == ["a", "i"]
    assert {reject.line: reject.reason.split(";")[0] for reject in rejects} == {
        3: "the line has 3 fields, the header 4",
        4: "column 'x' has 'one', which is no number",
        5: "column 'colour' has 'green', a category that the model does not know",
        6: "the label is 'yes', those of the model are of type int",
        7: "column 'x' has 'inf', which is not finite",
        8: "the line is not UTF-8",
        10: "the line is longer than 1000 bytes",
        11: "a quote is not closed",
    }
    assert next(reject.record for reject in rejects if reject.line == 4) == "c,one,red,1"


def test_quoted_csv_cells_may_hold_anything(tmp_path):
    items, rejects = drain(csv_source(tmp_path, 'id,x,colour,y\n"a,\n""b""",1,red,1\nc,2,"blue",0\n'), most=1)
    assert rejects == []
    assert [key for key, _, _ in items] == ['a,\n"b"', "c"]


@given(st.integers(1, 40), st.integers(1, 7), st.data())
def test_a_file_can_be_read_again_from_any_record(tmp_path_factory, n, most, data):
    text = "id,x,colour,y\n" + "".join(f"{i},{i},{'rb'[i % 2] + ('ed' if i % 2 == 0 else 'lue')},1\n" for i in range(n))
    source = csv_source(tmp_path_factory.mktemp("csv"), text)
    offsets = []
    while not source.done:
        items, _ = source.poll(most)
        offsets.extend(zip(items.offset.tolist(), items.key.tolist(), strict=True))
        if items.offset.size:
            assert source.offset > items.offset[-1]
    place = data.draw(st.integers(0, n - 1))
    source.seek(offsets[place][0])
    assert source.offset == offsets[place][0]
    again, _ = drain(source, most)
    assert [key for key, _, _ in again] == [key for _, key in offsets[place:]]


def test_a_header_that_lacks_a_column_is_refused_at_once(tmp_path):
    with pytest.raises(
        SchemaError, match="there is no column 'colour', which the model was fitted on; the table has id, x"
    ):
        csv_source(tmp_path, "id,x\n1,2\n")
    with pytest.raises(SchemaError, match="has 'x' twice"):
        csv_source(tmp_path, "id,x,x,colour\n")
    with pytest.raises(SchemaError, match="the input is empty"):
        csv_source(tmp_path, "")


def test_json_lines_may_lack_members_and_bad_ones_are_rejected(tmp_path):
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
    items, rejects = drain(JsonLinesSource(path, SCHEMA))
    assert [key for key, _, _ in items] == [1, 2]
    np.testing.assert_array_equal([x for _, x, _ in items], [[2.5, 0, 1], [np.nan] * 3])
    assert [reject.line for reject in rejects] == [3, 4, 5, 6, 7, 8, 9]
    assert "put one record on each line" in rejects[3].reason


@given(
    st.lists(st.binary(max_size=40).filter(lambda text: b"\n" not in text and not text.endswith(b"\r")), max_size=30)
)
def test_lines_and_their_offsets_are_those_of_the_file(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("lines") / "f"
    path.write_bytes(b"".join(text + b"\n" for text in texts))
    reader = LineReader(path)
    lines = reader.read(1000)
    assert [line.text for line in lines] == texts
    assert [line.offset for line in lines] == np.concatenate([[0], np.cumsum([len(t) + 1 for t in texts])])[
        :-1
    ].tolist()
    reader.close()


def test_a_pipe_gives_what_is_there_and_never_waits(monkeypatch):
    read_end, write_end = os.pipe()
    monkeypatch.setattr("sys.stdin", os.fdopen(read_end))
    reader = LineReader("-")
    assert reader.read(5) == []
    assert not reader.done
    os.write(write_end, b"one\ntw")
    assert [line.text for line in reader.read(5)] == [b"one"]
    waker = threading.Timer(0.01, os.write, (write_end, b"o\nthree"))
    waker.start()
    reader.wait(10.0)
    waker.join()
    assert [line.text for line in reader.read(5)] == [b"two"]
    os.close(write_end)
    assert [line.text for line in reader.read(5)] == [b"three"]
    assert reader.done


def test_a_pipe_skips_to_an_offset_but_does_not_go_back(monkeypatch):
    read_end, write_end = os.pipe()
    monkeypatch.setattr("sys.stdin", os.fdopen(read_end))
    os.write(write_end, b"a\nbb\nccc\n")
    os.close(write_end)
    reader = LineReader("-")
    reader.seek(5)
    assert [(line.text, line.number) for line in reader.read(5)] == [(b"ccc", 3)]
    with pytest.raises(ValueError, match="cannot go back"):
        reader.seek(0)


def test_an_overlong_line_is_not_held_in_memory(tmp_path):
    path = tmp_path / "long"
    path.write_bytes(b"a\n" + b"x" * 1_000_000 + b"\nb\n")
    lines = LineReader(path, longest=100).read(10)
    assert [(line.number, line.offset, line.overlong, len(line.text)) for line in lines] == [
        (1, 0, False, 1),
        (2, 2, True, 200),
        (3, 1_000_003, False, 1),
    ]


def test_a_schema_is_inferred_and_survives_json():
    table = {
        "n": ["1", "2.5", ""],
        "c": ["u", "v", "?"],
        "k": ["a", "b", "c"],
        "t": ["1", "2", "3"],
        "y": ["0", "1", "1"],
    }
    schema = Schema.infer(table, label="y", key="k", ignore=["t"])
    assert schema.columns == (Column("n"), Column("c", ("u", "v")))
    assert (schema.label_type, schema.feature_names) == ("int", ["n", "c=u", "c=v"])
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


def test_a_schema_that_cannot_be_is_refused():
    with pytest.raises(SchemaError, match="there is no column 'z'; the table has x"):
        Schema.infer({"x": ["1"]}, label="z")
    with pytest.raises(SchemaError, match="leave it out with --ignore id"):
        Schema.infer({"id": [f"r{i}" for i in range(500)], "x": ["1"] * 500})


def test_a_ragged_training_table_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(SchemaError, match="record 2 has 1 fields, the header 2"):
        read_csv_columns(path)


NUMBERS = Schema((Column("a"), Column("b")), label="y", time="t", label_type="int")
CELLS = st.sampled_from(
    ["1", "2.5", "-3e2", " 4 ", "", "?", "nan", "inf", "x", "1_0", '"6"', "0x1", "9007199254740993"]
)


LABELS = st.sampled_from(["0", "1", "", "1.5", "1.0", "9007199254740993"])


@given(st.lists(st.tuples(CELLS, CELLS, LABELS, CELLS), max_size=12), st.integers(1, 5))
def test_plain_numbers_are_read_the_same_all_at_once_as_cell_by_cell(tmp_path_factory, rows, most):
    path = tmp_path_factory.mktemp("csv") / "stream.csv"
    path.write_text("a,b,y,t,more\n" + "".join(f"{a},{b},{y},{t},7\n" for a, b, y, t in rows))
    quick, slow = CsvSource(path, NUMBERS), CsvSource(path, NUMBERS)
    assert quick._numeric
    slow._numeric = False
    while not slow.done:
        found, expected = quick.poll(most), slow.poll(most)
        np.testing.assert_array_equal(found.items.features, expected.items.features)
        np.testing.assert_array_equal(found.items.arrival, expected.items.arrival)
        assert found.items.label.tolist() == expected.items.label.tolist()
        assert found.items.key.tolist() == expected.items.key.tolist()
        assert [reject.line for reject in found.rejects] == [reject.line for reject in expected.rejects]
    assert quick.done


def test_lines_are_cut_the_same_in_large_chunks_as_alone(tmp_path, monkeypatch):
    texts = [b"", b"a", b"bb" * 30, b"c\r", b"", b"d" * 200, b"e", b"last"]
    (tmp_path / "lines").write_bytes(b"\n".join(texts))
    (tmp_path / "plain").write_bytes(b"\n".join(text.rstrip(b"\r") for text in texts))
    for name in ("lines", "plain"):
        found = []
        for chunk in (3, 7, 2**18):
            monkeypatch.setattr("anystream.connectors.lines._CHUNK", chunk)
            reader = LineReader(tmp_path / name, longest=100)
            lines = []
            while not reader.done:
                lines.extend(line._replace(text=line.text[:90]) for line in reader.read(3))
            found.append(lines)
        assert found[0] == found[1] == found[2]
        assert [line.number for line in found[0]] == list(range(1, 9))
        assert [line.overlong for line in found[0]] == [False] * 5 + [True] + [False] * 2
