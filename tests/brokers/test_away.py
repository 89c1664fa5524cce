"""Brokers that go away and come back, and consumers that stand still, on every broker."""

import os
import signal
import time

import pytest

from brokers.history import check_history
from brokers.kills import consumer_options, send_slowly
from brokers.outside import make_record, wait_until
from brokers.program import finish, fork, kill, start

N = 120
RECEIVE_MAX = 10  # of MQTT; mosquitto 2.0 may have nearly twice as many unacknowledged messages (its issue 2301)


def classify(server, model, stream, log, *more, consumer="one", **options):
    options = consumer_options(server.scheme, consumer) | options
    arguments = [
        "classify", model, "--from", server.address(stream("events"), **options),
        "--to", server.address(stream("answers")), "--dead-letters", server.address(stream("dead")),
        "--key", "id", "--label", "class", "-q", *more,
    ]  # fmt: skip
    return start(arguments, log)


def prepare(server, outside, stream):
    out = outside(server)
    out.create(*map(stream, ("events", "answers", "dead")))
    if server.scheme == "mqtt":
        out.subscribe_session("one", stream("events"))
    return out


def send(out, stream, numbers):
    sent = {number: make_record(number) for number in numbers}
    out.send(stream("events"), [(str(number).encode(), value) for number, value in sent.items()])
    if hasattr(out, "flush"):
        out.flush()
    return sent


@pytest.mark.parametrize("broker", ["redis", "kafka", "nats", "mqtt"], indirect=True)
def test_a_broker_that_restarts_is_waited_for_and_nothing_is_lost(broker, model, stream, outside, tmp_path):
    out, log = prepare(broker, outside, stream), tmp_path / "log"
    sent = send(out, stream, range(60))
    in_work = {"receive_max": RECEIVE_MAX} if broker.scheme == "mqtt" else {}
    child = classify(broker, model, stream, log, idle="6s", **in_work)
    early = []  # answers before the crash
    wait_until(lambda: early.extend(out.read(stream("answers"))) or early, timeout_s=60.0)
    broker.crash()
    wait_until(lambda: "cannot be reached" in log.read_text())
    broker.start()
    sent |= send(out, stream, range(60, N))
    assert finish(child, 120.0) == 0, log.read_text()
    answers = out.read(stream("answers"))
    if broker.scheme == "mqtt":  # whose messages are read once
        answers = early + answers
    verdict = check_history(sent, answers, out.read(stream("dead")))
    assert verdict._replace(duplicates=0) == (N, [], 0, [], 0), log.read_text()
    assert verdict.duplicates <= 2 * in_work.get("receive_max", 0)
    lines = log.read_text().splitlines()
    for name in map(stream, ("events", "answers", "dead")):  # each says so once, and once that it is back
        said = [line for line in lines if f"/{name} " in line]
        assert len(said) in (0, 2), lines
    assert any("is reached again after" in line for line in lines)


@pytest.mark.parametrize("broker", ["redis", "kafka", "nats"], indirect=True)
def test_a_consumer_that_stood_still_while_others_took_its_records_adds_no_second_answer(
    broker, model, stream, outside, tmp_path
):
    out, log = prepare(broker, outside, stream), tmp_path / "log"
    first = fork(log, send_slowly, broker, 400, 200, stream("events"))
    slow = classify(broker, model, stream, log, consumer="slow")
    wait_until(lambda: len(out.read(stream("answers"))) > 50)
    os.kill(slow, signal.SIGSTOP)
    assert finish(first) == 0, log.read_text()
    second = fork(log, send_slowly, broker, 1600, 200, stream("events"), 400)
    other = classify(broker, model, stream, log, consumer="other")
    assert finish(second) == 0, log.read_text()
    wait_until(lambda: len(out.read(stream("answers"))) >= 1568, timeout_s=120)
    os.kill(slow, signal.SIGCONT)
    os.kill(other, signal.SIGTERM)
    assert finish(other) == 0, log.read_text()
    wait_until(lambda: len(out.read(stream("dead"))) == 32)
    time.sleep(1.0)  # for what the slow one would add
    kill(slow)
    sent = {number: make_record(number) for number in range(1600)}
    assert check_history(sent, out.read(stream("answers")), out.read(stream("dead"))) == (1600, [], 0, [], 0)
