"""Bytes of compressed and of UTF-16 input are those of the text."""

import bz2
import gzip
import lzma
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.connectors.byte_input import ByteInput
from anystream.connectors.lines import LineReader

TEXT = "id,x\n" + "".join(f"r{i},{i * 7 % 13}\n" for i in range(40_000))


def compress_zstd(data):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


ENCODINGS = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "gzip in two parts": lambda data: gzip.compress(data[:999]) + gzip.compress(data[999:]),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": compress_zstd,
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "UTF-16 in gzip": lambda data: gzip.compress(data.decode().encode("utf-16-be").join([b"\xfe\xff", b""])),
}


def read_all(found):
    parts = []
    while chunk := found.read():
        parts.append(chunk)
    return b"".join(parts)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_any_encoding_is_read_as_its_text_and_can_be_rewound(tmp_path, encoding):
    path = tmp_path / "f"
    path.write_bytes(ENCODINGS[encoding](TEXT.encode()))
    found = ByteInput(path)
    assert read_all(found).removeprefix(b"\xef\xbb\xbf") == TEXT.encode()
    for position in (100_000, 0, 7):
        found.rewind(position)
        assert read_all(found) == TEXT.encode()[position:]
    found.close()


@pytest.mark.parametrize("encoding", ["gzip", "bzip2", "xz", "zstd"])
def test_damaged_and_truncated_data_are_errors_that_name_the_file(tmp_path, encoding):
    data = bytearray(ENCODINGS[encoding](TEXT.encode()))
    for content in (data[:-20], data[:50] + bytes(len(data) - 50)):
        path = tmp_path / "f"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"f: the {encoding} data are damaged \(.+\); make them anew"):
            read_all(ByteInput(path))


def test_a_pipe_with_a_descriptor_above_those_of_select_is_read():
    resource = pytest.importorskip("resource")
    fcntl = pytest.importorskip("fcntl")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip("the system allows no such descriptor")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    try:
        read_end, write_end = os.pipe()
        found = ByteInput(f"/dev/fd/{read_end}")
        low, found._descriptor = found._descriptor, fcntl.fcntl(read_end, fcntl.F_DUPFD, 2000)
        os.close(low)
        os.close(read_end)
        assert found.read() is None
        os.write(write_end, b"a,b\n1,2\n")
        os.close(write_end)
        found.wait(1.0)
        assert (found.read(), found.read()) == (b"a,b\n1,2\n", b"")
        found.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@given(cut=st.integers(0, 60))
def test_a_pipe_that_stops_within_the_first_bytes_is_decoded_like_a_file(cut):
    data = gzip.compress(b"a,b\n1,2\n")
    read_end, write_end = os.pipe()
    found = ByteInput(f"/dev/fd/{read_end}")
    os.write(write_end, data[:cut])
    parts = [found.read() or b""]
    os.write(write_end, data[cut:])
    os.close(write_end)
    parts.append(read_all(found))
    assert b"".join(parts) == b"a,b\n1,2\n"
    found.close()
    os.close(read_end)


@pytest.mark.parametrize("n_lines", [3, 20_000])
def test_carriage_returns_end_lines_where_there_are_no_line_feeds(tmp_path, n_lines):
    texts = [b"line %d" % i for i in range(n_lines)]
    path = tmp_path / "mac"
    path.write_bytes(b"\r".join(texts) + b"\r")
    reader = LineReader(path)
    lines = []
    while not reader.done:
        lines += reader.read(1000)
    assert [line.text for line in lines] == texts
    assert [line.number for line in lines] == list(range(1, n_lines + 1))
    reader.seek(lines[2].offset)
    assert reader.read(1)[0][:3] == lines[2][:3]
