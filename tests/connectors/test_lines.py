import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.connectors.lines import LineReader


@given(
    st.lists(st.binary(max_size=40).filter(lambda text: b"\n" not in text and not text.endswith(b"\r")), max_size=30)
)
def test_lines_and_their_offsets_are_those_of_the_file(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("lines") / "f"
    path.write_bytes(b"".join(text + b"\n" for text in texts))
    reader = LineReader(path)
    lines = reader.read(1000)
    assert [line.text for line in lines] == texts
    ends = np.cumsum([len(text) + 1 for text in texts])
    assert [line.offset for line in lines] == [0, *ends][: len(texts)]
    assert reader.done
    reader.close()


def test_a_reader_is_done_with_its_last_line_and_looking_changes_nothing(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"a\nb\n")
    reader = LineReader(path)
    assert (reader.done, reader.offset) == (False, 0)
    assert [line.text for line in reader.read(1)] == [b"a"]
    assert (reader.done, reader.offset) == (False, 2)
    assert [line.text for line in reader.read(1)] == [b"b"]
    assert (reader.done, reader.offset) == (True, 4)
    reader.seek(2)
    assert not reader.done
    assert [(line.text, line.number) for line in reader.read(5)] == [(b"b", 2)]
    with pytest.raises(ValueError, match="ends before offset 99; give the same file"):
        reader.seek(99)


def test_a_pipe_gives_what_is_available_and_never_blocks(monkeypatch):
    read_end, write_end = os.pipe()
    monkeypatch.setattr("sys.stdin", os.fdopen(read_end))
    reader = LineReader("-")
    assert reader.read(5) == []
    assert not reader.done
    os.write(write_end, b"one\ntw")
    assert [line.text for line in reader.read(5)] == [b"one"]
    writer = threading.Timer(0.01, os.write, (write_end, b"o\nthree"))
    writer.start()
    reader.wait(10.0)
    writer.join()
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


def test_the_first_byte_can_be_peeked_at(monkeypatch):
    read_end, write_end = os.pipe()
    monkeypatch.setattr("sys.stdin", os.fdopen(read_end))
    os.write(write_end, b"\n  {}\n")
    os.close(write_end)
    reader = LineReader("-")
    assert reader.peek_first_byte() == b"{"
    assert [line.text for line in reader.read(5)] == [b"", b"  {}"]


def test_a_too_long_line_is_not_held_in_memory(tmp_path):
    path = tmp_path / "long"
    path.write_bytes(b"a\n" + b"x" * 1_000_000 + b"\nb\n")
    lines = LineReader(path, max_line_bytes=100).read(10)
    assert [(line.number, line.offset, line.too_long, len(line.text)) for line in lines] == [
        (1, 0, False, 1),
        (2, 2, True, 200),
        (3, 1_000_003, False, 1),
    ]


def test_lines_are_the_same_for_any_chunk_size(tmp_path, monkeypatch):
    texts = [b"", b"a", b"bb" * 30, b"c\r", b"", b"d" * 200, b"e", b"last"]
    (tmp_path / "lines").write_bytes(b"\n".join(texts))
    (tmp_path / "plain").write_bytes(b"\n".join(text.rstrip(b"\r") for text in texts))
    for name in ("lines", "plain"):
        found = []
        for chunk in (3, 7, 2**18):
            monkeypatch.setattr("anystream.connectors.lines._CHUNK", chunk)
            reader = LineReader(tmp_path / name, max_line_bytes=100)
            lines = []
            while not reader.done:
                lines.extend(line._replace(text=line.text[:90]) for line in reader.read(3))
            found.append(lines)
        assert found[0] == found[1] == found[2]
        assert [line.number for line in found[0]] == list(range(1, 9))
        assert [line.too_long for line in found[0]] == [False] * 5 + [True] + [False] * 2
