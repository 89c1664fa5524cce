"""Redis Streams on a real server."""

import json
import os
import signal
import time

import pytest

from anystream.connectors.redis_streams import RedisStreamsPublisher, RedisStreamsSource
from anystream.connectors.schema import Column, Schema
from brokers.history import check_history
from brokers.kills import run as run_with_kills
from brokers.outside import make_record, wait_until
from brokers.program import finish, start

SCHEMA = Schema((Column("a"), Column("b"), Column("c")), key="id")
N = 120


def command(server, model, stream, *more, **options):
    options = {"group": "g", "consumer": "c", "idle": "1s"} | options
    return [
        "classify", model, "--from", server.address(stream("events"), **options),
        "--to", server.address(stream("answers")), "--dead-letters", server.address(stream("dead")),
        "--key", "id", "--label", "class", "-q", *more,
    ]  # fmt: skip


def source_of(server, stream, **options):
    return RedisStreamsSource(server.address(stream("events"), **options), SCHEMA, report=lambda text: None)


def test_every_record_is_answered_once_and_poison_keeps_its_bytes(redis, model, stream, outside, tmp_path):
    out = outside(redis)
    sent = {number: make_record(number) for number in range(N)}
    out.send(stream("events"), [(str(number).encode(), value) for number, value in sent.items()])
    assert finish(start(command(redis, model, stream), tmp_path / "log")) == 0, (tmp_path / "log").read_text()
    answers, dead = out.read(stream("answers")), out.read(stream("dead"))
    verdict = check_history(sent, answers, dead)
    assert verdict == (N, [], 0, [], 0)
    assert dead[0]["headers"]["anystream-origin"].startswith(b"redis:" + stream("events").encode())
    assert out.unfinished(stream("events"), "g") == 0


def test_fields_of_an_entry_are_columns(redis, model, stream, outside, tmp_path):
    out = outside(redis)
    out.client.xadd(stream("events"), {"id": "x", "a": "1.5", "b": "0", "c": "-1"})
    assert finish(start(command(redis, model, stream), tmp_path / "log")) == 0, (tmp_path / "log").read_text()
    (answer,) = out.read(stream("answers"))
    assert json.loads(answer["value"])["key"] == "x"


def test_a_dead_consumers_records_are_claimed_and_nothing_is_answered_twice(redis, stream, outside):
    out = outside(redis)
    out.send(stream("events"), [(str(n).encode(), make_record(n)) for n in range(10)])
    slow = source_of(redis, stream, consumer="slow", claim_after="200ms")
    taken = slow.poll(10).records
    assert len(taken) == 10
    time.sleep(0.3)
    other = source_of(redis, stream, consumer="other", claim_after="200ms")
    claimed = other.poll(10).records
    assert claimed.key.tolist() == taken.key.tolist()
    from anystream.connectors.broker_source import OutMessage

    for source, records in ((other, claimed), (slow, taken)):
        for offset in records.offset.tolist():
            source.attach(offset, OutMessage(stream("answers"), b"{}"))
        source.acknowledge_records(records.offset)
    assert len(out.read(stream("answers"))) == 10  # the slow one came too late: its answers were not added


def test_a_record_that_is_delivered_too_often_is_dead_lettered(redis, stream, outside):
    out = outside(redis)
    out.send(stream("events"), [(b"0", make_record(0))])
    for _ in range(3):
        source = source_of(redis, stream, consumer="c", max_deliveries=3)
        assert len(source.poll(10).records) == 1
    result = source_of(redis, stream, consumer="c", max_deliveries=3).poll(10)
    assert len(result.records) == 0
    assert result.rejected[0].reason == "the message was delivered 4 times and never finished"
    assert result.rejected[0].origin.value == make_record(0)


def test_entries_lost_by_trimming_are_counted(redis, stream, outside):
    out = outside(redis)
    out.send(stream("events"), [(str(n).encode(), make_record(n)) for n in range(20)])
    assert len(source_of(redis, stream, consumer="dead", claim_after="100ms").poll(20).records) == 20
    out.client.xtrim(stream("events"), maxlen=5, approximate=False)
    time.sleep(0.2)
    reports = []
    address = redis.address(stream("events"), consumer="other", claim_after="100ms")
    source = RedisStreamsSource(address, SCHEMA, report=reports.append)
    assert len(source.poll(20).records) == 5
    assert source.lost == 15
    assert "15 pending messages were trimmed" in reports[0]


def test_lag_is_what_no_consumer_has_read(redis, stream, outside):
    out = outside(redis)
    out.send(stream("events"), [(str(n).encode(), make_record(n)) for n in range(20)])
    source = source_of(redis, stream)
    assert len(source.poll(5).records) == 5
    assert source.lag == 15


def test_a_broker_that_stays_away_ends_the_run_with_code_1(model, tmp_path):
    log = tmp_path / "log"
    arguments = ["classify", model, "--from", "redis://127.0.0.1:1/events", "--give-up-after", "500ms", "-q"]
    assert finish(start(arguments, log)) == 1
    assert "redis://127.0.0.1:1/events could not be reached for 0." in log.read_text()
    assert "Traceback" not in log.read_text()


def test_labels_come_from_a_stream_and_are_learned(redis, model, stream, outside, tmp_path):
    out = outside(redis)
    out.send(stream("events"), [(str(n).encode(), make_record(n)) for n in range(0, 40, 5)])
    labels = [json.dumps({"key": f"r{n}", "label": "c1"}).encode() for n in range(0, 40, 5)]
    out.send(stream("labels"), [(str(n).encode(), value) for n, value in enumerate(labels)])
    log = tmp_path / "log"
    arguments = command(
        redis, model, stream, "--learn", "--labels", redis.address(stream("labels"), group="l"), "--json"
    )
    arguments.remove("-q")
    assert finish(start(arguments, log)) == 0, log.read_text()
    figures = json.loads(log.read_text().splitlines()[-1])
    assert (figures["answered"], figures["labels_matched"], figures["learned"]) == (8, 8, 8)
    assert figures["lag"] == 0
    assert out.unfinished(stream("labels"), "l") == 0


def test_a_signal_ends_the_run_and_what_was_taken_is_answered(redis, model, stream, outside, tmp_path):
    out = outside(redis)
    out.send(stream("events"), [(str(n).encode(), make_record(n)) for n in range(45)])
    child = start(command(redis, model, stream, idle="60s"), tmp_path / "log")
    wait_until(lambda: len(out.read(stream("answers"))) == 45)
    os.kill(child, signal.SIGTERM)
    assert finish(child, 10) == 0
    assert out.unfinished(stream("events"), "g") == 0
    assert out.client.xinfo_consumers(stream("events"), "g") == []  # it has left the group


def test_answers_in_a_file_are_kept_by_the_next_start(redis, model, stream, outside, tmp_path):
    out, log, answers = outside(redis), tmp_path / "log", tmp_path / "answers.jsonl"
    for first in (0, 40):
        out.send(stream("events"), [(str(n).encode(), make_record(n)) for n in range(first, first + 40)])
        address = redis.address(stream("events"), group="g", idle="1s")
        arguments = ["classify", model, "--from", address, "-o", answers, "--key", "id", "-q"]
        assert finish(start(arguments, log)) == 0, log.read_text()
    keys = [json.loads(line)["key"] for line in answers.read_text().splitlines()]
    assert sorted(keys) == sorted(f"r{n}" for n in range(80) if n != 49)


def test_a_publisher_writes_bytes_as_they_are(redis, stream, outside):
    from anystream.connectors.broker_source import OutMessage

    publisher = RedisStreamsPublisher(redis.address(stream("x"), maxlen=1000))
    publisher.publish([OutMessage(stream("x"), b"\x00\xff", b"k", (("h", b"v"),))])
    assert outside(redis).read(stream("x")) == [{"value": b"\x00\xff", "key": b"k", "headers": {"h": b"v"}}]


@pytest.mark.parametrize("second", [False, True])
def test_consumers_and_broker_are_killed_and_the_history_is_whole(tmp_path, second):
    verdict, n_killed = run_with_kills("redis", tmp_path, kills=6, broker_kills=1, second=second)
    assert n_killed == 6
    assert verdict._replace(sent=0) == (0, [], 0, [], 0)


def test_idle_time_counts_from_when_the_server_is_reached_again(redis, stream):
    source = source_of(redis, stream, idle="1s")
    source.poll(1)
    redis.crash()
    wait_until(lambda: source.wait(0.05) or source._retry.away)
    time.sleep(1.0)
    redis.start()
    wait_until(lambda: source.wait(0.05) or not source._retry.away)
    assert not source.done
    wait_until(lambda: len(source.poll(1).records) == 0 and source.done)
    source.close()
