"""JetStream on a real server."""

import time

from anystream.connectors.broker_source import OutMessage
from anystream.connectors.jetstream import JetStreamPublisher, JetStreamSource
from anystream.connectors.schema import Column, Schema
from brokers.history import check_history
from brokers.kills import run as run_with_kills
from brokers.outside import make_record, wait_until
from brokers.program import finish, start

SCHEMA = Schema((Column("a"), Column("b"), Column("c")), key="id")
N = 150


def test_every_record_is_answered_once(nats, model, stream, outside, tmp_path):
    out, log = outside(nats), tmp_path / "log"
    out.create(*map(stream, ("events", "answers", "dead")))
    sent = {number: make_record(number) for number in range(N)}
    out.send(stream("events"), [(str(number).encode(), value) for number, value in sent.items()])
    arguments = [
        "classify", model, "--from", nats.address(stream("events"), durable="d", idle="2s"),
        "--to", nats.address(stream("answers")), "--dead-letters", nats.address(stream("dead")),
        "--key", "id", "--label", "class", "-q",
    ]  # fmt: skip
    assert finish(start(arguments, log)) == 0, log.read_text()
    assert check_history(sent, out.read(stream("answers")), out.read(stream("dead"))) == (N, [], 0, [], 0)


def test_a_message_is_dead_lettered_at_its_last_delivery_and_kept_while_it_is_in_work(nats, stream, outside):
    out = outside(nats)
    out.create(stream("events"))
    out.send(stream("events"), [(b"0", make_record(0))])
    address = nats.address(stream("events"), durable="d", ack_wait="600ms", max_deliveries=2)
    patient = JetStreamSource(address, SCHEMA, report=lambda text: None)
    patient.wait(3.0)
    assert len(patient.poll(10).records) == 1
    time.sleep(1.5)  # more than twice the time after which it would come again
    assert len(patient.poll(10).records) == 0
    patient.close()  # gives it back
    other = JetStreamSource(address, SCHEMA, report=lambda text: None)
    other.wait(3.0)
    result = other.poll(10)
    assert [found.reason for found in result.rejected] == ["the message was delivered 2 times and never finished"]
    assert result.rejected[0].origin.value == make_record(0)
    other.close()


def test_an_answer_that_is_written_twice_is_stored_once(nats, stream, outside):
    out = outside(nats)
    out.create(stream("answers"))
    publisher = JetStreamPublisher(nats.address(stream("answers")))
    answers = [OutMessage(stream("answers"), b"{}", identity=f"nats:events::{number}#0") for number in range(3)]
    publisher.publish(answers)
    publisher.publish([*answers, OutMessage(stream("answers"), b"{}", identity="nats:events::3#0")])
    publisher.close()
    assert len(out.read(stream("answers"))) == 4


def test_lag_is_what_was_not_delivered_yet(nats, stream, outside):
    out = outside(nats)
    out.create(stream("events"))
    out.send(stream("events"), [(str(number).encode(), make_record(number)) for number in range(300)])
    source = JetStreamSource(nats.address(stream("events"), max_ack_pending=100), SCHEMA, report=lambda text: None)
    assert source.lag is None
    source.wait(3.0)
    wait_until(lambda: source.lag == 200)
    source.close()


def test_consumers_and_server_are_killed_and_the_history_is_whole(nats, tmp_path):
    verdict, n_killed = run_with_kills("nats", tmp_path, kills=5, broker_kills=1, second=True)
    assert n_killed == 5
    assert verdict._replace(sent=0) == (0, [], 0, [], 0)
