"""Reading ahead changes when records are read, and nothing else."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from anystream.connectors.csv_file import CsvSource
from anystream.connectors.json_lines import JsonLinesSource
from anystream.connectors.schema import Column, Schema
from anystream.runtime.contracts import PollResult
from anystream.runtime.read_ahead import ReadAhead
from anystream.runtime.records import Records, RejectedRecord

SCHEMA = Schema((Column("x"),))


class CountingSource:
    """Records of consecutive offsets; every seventh is malformed, and reading fails at one of them."""

    def __init__(self, n_records, *, part=5, fails_at=None):
        self.offset, self.n_records, self.part, self.fails_at = 0, n_records, part, fails_at
        self.n_polls, self.closed, self.thread = 0, False, None

    @property
    def done(self):
        return self.offset >= self.n_records

    def poll(self, max_records):
        self.n_polls, self.thread = self.n_polls + 1, threading.current_thread()
        offsets = np.arange(self.offset, min(self.offset + min(self.part, max_records), self.n_records))
        if self.fails_at is not None and self.fails_at in offsets:
            offsets = offsets[offsets < self.fails_at]
            if len(offsets) == 0:
                raise OSError("the disk is gone")
        self.offset += len(offsets)
        valid = offsets % 7 != 3
        rejected = [RejectedRecord("a seventh", offset) for offset in offsets[~valid].tolist()]
        return PollResult(Records.from_features(offsets[valid, None], offset=offsets[valid]), rejected)

    def wait(self, seconds):
        time.sleep(seconds)

    def fingerprint(self):
        return {"bytes": self.offset}

    def seek(self, offset, fingerprint=None):
        self.offset = offset

    def acknowledge(self, offset):
        pass

    def close(self):
        self.closed = True


@pytest.fixture
def ahead():
    opened = []

    def open_ahead(source):
        opened.append(ReadAhead(source))
        return opened[-1]

    yield open_ahead
    for source in opened:
        source.close()


def wait_until(condition):
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.001)


def offsets_of(result):
    return sorted([*result.records.offset.tolist(), *(found.offset for found in result.rejected)])


def poll_some(source, max_records):
    while not (found := offsets_of(source.poll(max_records))) and not source.done:
        source.wait(1.0)
    return found


@pytest.mark.parametrize("max_records", [1, 3, 5, 100])
def test_every_record_comes_once_in_order_and_the_offset_is_that_of_the_next(ahead, max_records):
    source, found = ahead(CountingSource(61)), []
    while not source.done:
        assert source.offset == len(found)
        polled = poll_some(source, max_records)
        assert len(polled) <= max_records
        found += polled
    assert found == list(range(61))


def test_records_are_read_by_another_thread_and_only_a_few_parts_ahead(ahead):
    inner = CountingSource(10_000)
    source = ahead(inner)
    poll_some(source, 1)
    wait_until(lambda: inner.n_polls == 4)  # one was polled, two wait, and one waits for a free slot
    time.sleep(0.1)
    assert inner.n_polls == 4
    assert inner.thread is not threading.current_thread()


def test_the_position_is_that_of_polled_records(ahead):
    inner = CountingSource(20)
    source = ahead(inner)
    assert poll_some(source, 5) == [0, 1, 2, 3, 4]
    wait_until(lambda: inner.done)
    assert (source.offset, source.fingerprint(), source.done) == (5, {"bytes": 5}, False)
    source.close()
    assert (source.offset, source.done) == (5, False)


@pytest.mark.parametrize(("max_records", "n_records"), [(10_000, 30_000), (7, 100)])
def test_absent_columns_are_counted_for_the_records_that_were_polled(tmp_path, ahead, max_records, n_records):
    (tmp_path / "records.jsonl").write_text('{"x": 1.5}\n' * 50_000)
    source = JsonLinesSource(tmp_path / "records.jsonl", Schema((Column("x"), Column("y"))))
    reader = ahead(source)
    assert reader.absent == {"x": 0, "y": 0}
    n = 0
    while n < n_records:
        n += len(poll_some(reader, max_records))
        assert reader.absent == {"y": n}
    wait_until(lambda: source.absent["y"] > n)
    reader.close()
    assert reader.absent == {"y": n}


def test_a_source_that_counts_no_absent_columns_has_none(ahead):
    assert not hasattr(ahead(CountingSource(10)), "absent")


def test_an_error_is_raised_in_place_of_the_records_that_could_not_be_read(ahead):
    source, found = ahead(CountingSource(30, fails_at=12)), []
    while len(found) < 12:
        found += poll_some(source, 4)
    assert found == list(range(12))
    for _ in range(2):
        with pytest.raises(OSError, match="the disk is gone"):
            poll_some(source, 4)
    assert not source.done


def test_after_seek_the_record_there_is_the_next_again(ahead):
    source = ahead(CountingSource(40))
    poll_some(source, 100)
    poll_some(source, 3)
    source.seek(2, None)
    assert source.offset == 2
    assert poll_some(source, 100) == [2, 3, 4, 5, 6]


def test_closing_ends_the_thread(ahead):
    inner = CountingSource(10_000)
    source = ahead(inner)
    poll_some(source, 1)
    source.close()
    assert not inner.thread.is_alive()
    assert inner.closed


def test_an_empty_source_is_done_before_it_is_polled(ahead):
    assert ahead(CountingSource(0)).done


def test_what_a_pipe_has_delivered_does_not_wait_for_more(ahead, monkeypatch):
    reading, writing = os.pipe()
    monkeypatch.setattr("sys.stdin", os.fdopen(reading))
    os.write(writing, b"x\n1\n2\n")
    source = ahead(CsvSource("-", SCHEMA))
    assert len(poll_some(source, 100)) == 2
    assert offsets_of(source.poll(100)) == []
    os.write(writing, b"3\n4")
    assert len(poll_some(source, 100)) == 1
    assert not source.done
    os.close(writing)
    assert len(poll_some(source, 100)) == 1
    assert source.done


def test_a_program_ends_though_its_source_was_not_closed():
    code = (
        "from test_read_ahead import CountingSource, ReadAhead, poll_some; "
        "poll_some(ReadAhead(CountingSource(10**9)), 1); raise ValueError('as expected')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stderr.endswith("ValueError: as expected\n")
