import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.connectors.lines import LineReader
from anystream.connectors.prefix_hash import PrefixHash


@given(
    st.lists(st.binary(max_size=40).filter(lambda text: b"\n" not in text and not text.endswith(b"\r")), max_size=30)
)
def test_lines_and_their_offsets_are_those_of_the_file(tmp_path_factory, texts):
    texts = [b"the first line is no mark of compressed data", *texts]
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
    with pytest.raises(ValueError, match="ends before byte 99; give the same file"):
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
            monkeypatch.setattr("anystream.connectors.byte_input._CHUNK", chunk)
            reader = LineReader(tmp_path / name, max_line_bytes=100)
            lines = []
            while not reader.done:
                lines.extend(line._replace(text=line.text[:90]) for line in reader.read(3))
            found.append(lines)
        assert found[0] == found[1] == found[2]
        assert [line.number for line in found[0]] == list(range(1, 9))
        assert [line.too_long for line in found[0]] == [False] * 5 + [True] + [False] * 2


def read_all(reader):
    lines = []
    while not reader.done:
        lines += [line.text for line in reader.read(1000)]
        reader.wait(1.0)
    return lines


@pytest.fixture
def open_input(tmp_path):
    """A function that makes a reader of some bytes, from a file or from a pipe."""
    made = []

    def open_input(content, piped):
        path = tmp_path / f"input {len(made)}"
        made.append(path)
        if not piped:
            path.write_bytes(content)
            return LineReader(path)
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=(content,), daemon=True)
        writer.start()
        return LineReader(path)

    return open_input


@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("n_lines", [3, 60_000])  # within one chunk, and more
@pytest.mark.parametrize("peeked", [False, True])
def test_a_reader_continues_the_input_it_has_read_and_refuses_another(open_input, piped, n_lines, peeked):
    def reader(content):
        made = open_input(content, piped)
        if peeked:
            made.peek_first_byte()
        return made

    content = b"".join(b"line %d\n" % i for i in range(n_lines))
    first = reader(content)
    while first.offset < len(content) // 2:
        first.read(1)
        first.wait(0.1)
    offset, fingerprint = first.offset, first.fingerprint()
    rest = read_all(first)
    assert offset <= fingerprint["bytes"] <= len(content)

    again = reader(content + b"more\n")
    again.seek(offset, fingerprint)
    assert again.offset == offset
    assert read_all(again) == [*rest, b"more"]

    for place in (0, offset - 3, fingerprint["bytes"] - 1):
        changed = bytearray(content)
        changed[place] ^= 1
        with pytest.raises(ValueError, match=r"the first [0-9]+ bytes are not those that the run has read"):
            reader(bytes(changed)).seek(offset, fingerprint)
    with pytest.raises(ValueError, match="ends before byte"):
        reader(content[: fingerprint["bytes"] - 1]).seek(offset, fingerprint)


def test_the_fingerprint_does_not_depend_on_how_the_input_was_read(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"a" * 700_000 + b"\nb\nc")
    whole, resumed = LineReader(path, max_line_bytes=1000), LineReader(path, max_line_bytes=1000)
    read_all(whole)
    resumed.seek(700_001)
    read_all(resumed)
    assert whole.fingerprint() == resumed.fingerprint()
    assert whole.fingerprint()["bytes"] == 700_004


def test_an_input_that_is_not_hashed_counts_bytes_and_compares_with_no_fingerprint(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"a\nb\n")
    hashed, plain = LineReader(path), LineReader(path, hashed=False)
    assert [line.text for line in hashed.read(9)] == [line.text for line in plain.read(9)] == [b"a", b"b"]
    assert plain.fingerprint() == {"bytes": 4, "hash": ""}
    assert hashed.fingerprint()["hash"]
    with pytest.raises(ValueError, match="the first 4 bytes are not those that the run has read"):
        hashed.seek(0, plain.fingerprint())
    with pytest.raises(ValueError, match="is not hashed"):
        PrefixHash("x", hashed=False).expect(hashed.fingerprint())
