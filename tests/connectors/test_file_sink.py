import csv
import json
import math
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.connectors.file_sink import CsvSink, DeadLetterFile, JsonLinesSink
from anystream.runtime import RejectedRecord
from anystream.runtime.contracts import AnsweredRecords
from connectors.answered_records import CLASSES, answered_records


@pytest.mark.parametrize("proba", [False, True])
def test_json_lines_hold_the_answers(tmp_path, proba):
    sink = JsonLinesSink(tmp_path / "out.jsonl", proba=proba)
    sink.write(answered_records(["k\n1", "k2"]))
    sink.close()
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (first["key"], first["label"], first["certified"], first["late"]) == ("k\n1", CLASSES[0], True, False)
    assert (second["confidence"], second["steps"]) == (0.75, 1)
    assert first.get("proba") == ({CLASSES[0]: 0.25, "plain": 0.75} if proba else None)


@pytest.mark.parametrize("proba", [False, True])
def test_csv_is_what_csv_readers_read(tmp_path, proba):
    sink = CsvSink(tmp_path / "out.csv", proba=proba)
    sink.write(answered_records([1, 2]))
    sink.write(answered_records([3]))
    sink.close()
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["key"] for row in rows] == ["1", "2", "3"]
    assert rows[0]["label"] == CLASSES[0]
    assert ("proba_plain" in rows[0]) == proba


def test_csv_tells_which_records_were_reached(tmp_path):
    sink = CsvSink(tmp_path / "out.csv")
    sink.write(answered_records([1, 2]))
    sink.write(answered_records([3, 4])._replace(reached=np.array([True, False])))
    sink.close()
    with open(tmp_path / "out.csv", newline="") as file:
        assert [row["reached"] for row in csv.DictReader(file)] == ["1", "1", "1", "0"]


@pytest.mark.parametrize("sink_class", [JsonLinesSink, CsvSink])
def test_a_file_is_rewound_to_the_position_of_a_checkpoint(tmp_path, sink_class):
    path = tmp_path / "out"
    sink = sink_class(path)
    sink.write(answered_records([1, 2]))
    assert path.read_bytes() == b"", "nothing was flushed"
    mark = sink.mark(complete=False)
    whole = path.read_bytes()
    assert len(whole) == mark["bytes"] > 0
    sink.write(answered_records([3]))
    sink.close()
    again = sink_class(path, resume=True)
    again.rewind(mark)
    assert path.read_bytes() == whole
    again.write(answered_records([4]))
    again.close()
    assert path.read_bytes().startswith(whole)
    assert b"4" in path.read_bytes()[len(whole) :]
    path.write_bytes(whole[:-1])
    with pytest.raises(ValueError, match=r"does not begin with the .* bytes that the run wrote"):
        sink_class(path, resume=True).rewind(mark)


def test_the_name_of_a_new_file_is_synced_once(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    path = tmp_path / "answers.jsonl"
    for resume in (False, True):
        sink = JsonLinesSink(path, resume=resume)
        sink.sync()
        sink.sync()
        sink.close()
    assert synced == [str(path), str(tmp_path), str(path), str(path), str(path)]


def test_standard_output_cannot_be_rewound():
    with pytest.raises(ValueError, match="standard output cannot be rewound"):
        JsonLinesSink("-").rewind({})


def test_dead_letters_tell_place_and_reason(tmp_path):
    sink = DeadLetterFile(tmp_path / "dead.jsonl")
    sink.write([RejectedRecord("torn", 17, 3, "k", "a,b\udcff"), RejectedRecord("shed", 5, None, np.int64(4))])
    sink.close()
    lines = (tmp_path / "dead.jsonl").read_bytes().splitlines()
    assert json.loads(lines[0].decode("utf-8", "surrogatepass"))["line"] == 3
    assert json.loads(lines[1]) == {"key": 4, "reason": "shed", "record": ""}


CONFIDENCES = st.one_of(
    st.floats(0, 1),
    st.sampled_from([1 + 1e-15, 1.000001, math.nan]),
    st.integers(0, 10**6).map(lambda n: n / 10**6),
    st.floats(0, 3e-4),
)
KEYS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8),
    st.lists(st.sampled_from(["a", 'b,"c"', "\u00e9\n", 7, 2.5, None, "\ud800"]), min_size=1, max_size=8),
)
LABELS = st.sampled_from([np.array([0, 1, 5]), np.array(["a", "b\u00e9", 'c,"d"']), np.array([0.0, 2.0, 3.0])])


@pytest.mark.parametrize("kind", [CsvSink, JsonLinesSink])
@given(KEYS, LABELS, st.data())
def test_lines_are_the_same_in_native_code_as_in_python(tmp_path_factory, kind, keys, classes, data):
    n = len(keys)
    proba = np.zeros((n, 3))
    proba[:, 1] = data.draw(st.lists(CONFIDENCES, min_size=n, max_size=n))
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=4 * n, max_size=4 * n))).reshape(4, n)
    is_number = all(isinstance(key, int) for key in keys)
    answers = AnsweredRecords(
        np.array(keys, dtype=np.int64 if is_number else object),
        classes[np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))],
        proba,
        classes,
        np.array(data.draw(st.lists(st.integers(0, 2**40), min_size=n, max_size=n))),
        flags[0],
        np.zeros(n),
        flags[1],
        reached=data.draw(st.sampled_from([None, flags[2]])),
        confident=data.draw(st.sampled_from([None, flags[3]])),
    )
    sink = kind(tmp_path_factory.mktemp("sink") / "answers")
    expected = "".join(sink.format_answers(answers)).encode("utf-8", "backslashreplace")
    assert sink.format_text(answers) == expected
    sink.close()
