"""MQTT 5 on a real mosquitto."""

import time

import numpy as np
import pytest

from anystream.connectors.broker_source import OutMessage
from anystream.connectors.mqtt import MqttPublisher, MqttSource
from anystream.connectors.schema import Column, Schema
from brokers.history import check_history
from brokers.kills import RECEIVE_MAX
from brokers.kills import run as run_with_kills
from brokers.outside import make_record
from brokers.program import finish, start

SCHEMA = Schema((Column("a"), Column("b"), Column("c")), key="id")
N = 150


def test_every_record_is_answered_once_if_nothing_is_killed(mqtt, model, stream, outside, tmp_path):
    out, log = outside(mqtt), tmp_path / "log"
    out.create(*map(stream, ("answers", "dead")))
    out.subscribe_session(stream("c"), stream("events"))
    sent = {number: make_record(number) for number in range(N)}
    out.send(stream("events"), [(str(number).encode(), value) for number, value in sent.items()])
    out.flush()
    arguments = [
        "classify", model, "--from", mqtt.address(stream("events"), client=stream("c"), idle="2s"),
        "--to", mqtt.address(stream("answers")), "--dead-letters", mqtt.address(stream("dead")),
        "--key", "id", "--label", "class", "-q",
    ]  # fmt: skip
    assert finish(start(arguments, log)) == 0, log.read_text()
    assert check_history(sent, out.read(stream("answers")), out.read(stream("dead"))) == (N, [], 0, [], 0)


def test_no_more_messages_are_in_work_than_receive_max(mqtt, stream, outside):
    out = outside(mqtt)
    out.subscribe_session(stream("c"), stream("events"))
    out.send(stream("events"), [(str(number).encode(), make_record(number)) for number in range(40)])
    out.flush()
    source = MqttSource(mqtt.address(stream("events"), client=stream("c"), receive_max=5), SCHEMA)
    keys, in_work = [], []
    until = time.monotonic() + 30
    while len(keys) < 40:
        assert time.monotonic() < until, f"{len(keys)} records came"
        source.wait(0.2)
        records = source.poll(100).records
        keys += records.key.tolist()
        in_work += records.offset.tolist()
        assert len(in_work) <= 5
        assert len(source._buffer) <= 5  # mosquitto sends more, which stay in the connection
        if len(in_work) == 5:
            source.acknowledge_records(np.array([in_work.pop(2), in_work.pop(0)]))  # in any order
    assert keys == [f"r{number}" for number in range(40)]
    source.close()


def test_a_message_that_the_broker_refuses_is_an_error(mqtt, stream):
    publisher = MqttPublisher(mqtt.address(f"$share/g/{stream('x')}"))
    with pytest.raises((ValueError, OSError), match=r"refuse|Invalid|topic"):
        publisher.publish([OutMessage(f"$share/g/{stream('x')}", b"x")])
    publisher.close()


def test_a_session_needs_a_name(mqtt):
    with pytest.raises(ValueError, match="name the session"):
        MqttSource(mqtt.address("events"), SCHEMA)


def test_a_killed_consumer_loses_nothing_and_answers_no_more_than_receive_max_records_twice(mqtt, tmp_path):
    verdict, n_killed = run_with_kills("mqtt", tmp_path, kills=5)
    assert n_killed == 5
    assert verdict._replace(sent=0, duplicates=0) == (0, [], 0, [], 0)
    assert verdict.duplicates <= n_killed * RECEIVE_MAX
