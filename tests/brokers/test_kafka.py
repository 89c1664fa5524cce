"""A real Kafka, a single node in KRaft mode."""

import time

import numpy as np
import pytest

from anystream.connectors.broker_source import OutMessage
from anystream.connectors.kafka import KafkaSource
from anystream.connectors.schema import Column, Schema
from brokers.history import check_history
from brokers.kills import run as run_with_kills
from brokers.outside import make_record
from brokers.program import finish, start

SCHEMA = Schema((Column("a"), Column("b"), Column("c")), key="id")
N = 150


def send(outside, stream, numbers):
    sent = {number: make_record(number) for number in numbers}
    outside.send(stream, [(str(number).encode(), value) for number, value in sent.items()])
    outside.flush()
    return sent


def poll(source, n, timeout_s=30.0):
    """At least n records, as a list of offsets by key."""
    found, until = {}, time.monotonic() + timeout_s
    while len(found) < n:
        assert time.monotonic() < until, f"{len(found)} of {n} records came"
        result = source.poll(100)
        found |= dict(zip(result.records.key.tolist(), result.records.offset.tolist(), strict=True))
        found |= {f"bad-{rejected.offset}": rejected.offset for rejected in result.rejected}
        source.wait(0.05)
    return found


def test_every_record_is_answered_once(kafka, model, stream, outside, tmp_path):
    out, log = outside(kafka), tmp_path / "log"
    out.create(*map(stream, ("events", "answers", "dead")))
    sent = send(out, stream("events"), range(N))
    arguments = [
        "classify", model, "--from", kafka.address(stream("events"), group=stream("g"), idle="2s"),
        "--to", kafka.address(stream("answers")), "--dead-letters", kafka.address(stream("dead")),
        "--key", "id", "--label", "class", "-q",
    ]  # fmt: skip
    assert finish(start(arguments, log)) == 0, log.read_text()
    answers, dead = out.read(stream("answers")), out.read(stream("dead"))
    assert check_history(sent, answers, dead) == (N, [], 0, [], 0)
    assert dead[0]["headers"]["anystream-origin"].startswith(f"kafka:{stream('events')}:".encode())


def test_the_next_consumer_continues_above_the_lowest_unfinished_position(kafka, stream, outside):
    out = outside(kafka)
    out.create(stream("events"))
    send(out, stream("events"), range(40))
    address = kafka.address(stream("events"), group=stream("g"))
    source = KafkaSource(address, SCHEMA, report=lambda text: None)
    found = poll(source, 40)
    finished = {key: offset for key, offset in found.items() if key in [f"r{n}" for n in range(0, 40, 3)]}
    source.acknowledge_records(np.array(list(finished.values())))
    source.close()
    other = KafkaSource(address, SCHEMA, report=lambda text: None)
    rest = poll(other, 40 - len(finished))
    time.sleep(0.5)
    assert len(other.poll(100).records) == 0
    assert set(rest).isdisjoint(finished)
    assert len(rest) + len(finished) == 40
    assert other.lag == 0
    other.close()


def test_a_topic_that_does_not_exist_is_named_and_waited_for(kafka, model, stream, tmp_path):
    log = tmp_path / "log"
    arguments = ["classify", model, "--from", kafka.address(stream("none")), "--give-up-after", "3s", "-q"]
    assert finish(start(arguments, log)) == 1
    assert f"there is no topic {stream('none')}" in log.read_text()
    assert "is reached again" not in log.read_text()


def test_a_topic_that_is_created_later_is_read(kafka, stream, outside):
    out, reports = outside(kafka), []
    source = KafkaSource(kafka.address(stream("late"), group=stream("g")), SCHEMA, report=reports.append)
    until = time.monotonic() + 30
    while not reports:
        assert time.monotonic() < until
        source.wait(0.1)
    out.create(stream("late"))
    send(out, stream("late"), range(10))
    assert len(poll(source, 10)) == 10
    assert [text.partition(" cannot")[0].partition(" is reached")[0] for text in reports] == [str(source.address)] * 2
    source.close()


def test_a_transaction_of_a_consumer_that_was_replaced_is_aborted_and_its_records_are_taken_again(
    kafka, stream, outside
):
    out = outside(kafka)
    out.create(*map(stream, ("events", "answers")))
    send(out, stream("events"), range(20))
    address = kafka.address(stream("events"), group=stream("g"), consumer="one")
    first = KafkaSource(address, SCHEMA, report=lambda text: None)
    taken = poll(first, 20)
    second = KafkaSource(address, SCHEMA, report=lambda text: None)  # the same name: the group fences the first
    again = poll(second, 20)
    for source, records in ((first, taken), (second, again)):
        for offset in records.values():
            source.attach(offset, OutMessage(stream("answers"), b"{}"))
    first.acknowledge_records(np.array(list(taken.values())))
    assert out.read(stream("answers")) == []
    second.acknowledge_records(np.array(list(again.values())))
    assert len(out.read(stream("answers"))) == 20
    with pytest.raises(ValueError, match="another process has the name 'one' in the group"):
        poll(first, 1)
    second.close()
    first.close()


def test_lag_is_what_was_not_taken_yet(kafka, stream, outside):
    out = outside(kafka)
    out.create(stream("events"))
    send(out, stream("events"), range(40))
    source = KafkaSource(kafka.address(stream("events"), group=stream("g")), SCHEMA, report=lambda text: None)
    until, taken = time.monotonic() + 30, 0
    while taken < 10:
        assert time.monotonic() < until
        result = source.poll(10 - taken)
        taken += len(result.records) + len(result.rejected)
    assert source.lag == 30
    source.close()


def test_consumers_and_broker_are_killed_and_the_history_is_whole(kafka, tmp_path):
    verdict, n_killed = run_with_kills("kafka", tmp_path, kills=5, broker_kills=1, second=True)
    assert n_killed == 5
    assert verdict._replace(sent=0) == (0, [], 0, [], 0)


@pytest.mark.parametrize("option", ["color", "consumers"])
def test_an_unknown_option_is_an_error(kafka, option):
    with pytest.raises(ValueError, match=f"there is no option '{option}'"):
        KafkaSource(kafka.address("events", **{option: "x"}), SCHEMA)
