"""Answers to a file, by processes that end between a checkpoint and the acknowledgement of its records."""

import itertools
import json
import os

import pytest

from anystream.connectors.broker_source import MessageSource
from brokers.kills import consumer_options
from brokers.outside import is_poison, make_record
from brokers.program import _run_program, finish, fork, start

N = 400
KILLED = 9


def end_before(method, n, arguments):
    """Run ``anystream ARGUMENTS`` in a process that ends at the n-th call of a method of its source."""
    original, calls = getattr(MessageSource, method), itertools.count(1)

    def counted(*given):
        return original(*given) if next(calls) < n else os._exit(KILLED)

    setattr(MessageSource, method, counted)
    _run_program(arguments, {})


@pytest.mark.parametrize(
    ("broker", "exactly_once"),
    [("redis", True), ("kafka", True), ("nats", True), ("mqtt", False)],
    indirect=["broker"],
)
def test_a_run_with_files_that_ends_before_it_acknowledges_answers_everything(
    broker, exactly_once, model, stream, outside, tmp_path
):
    out, log, answers, dead = outside(broker), tmp_path / "log", tmp_path / "answers.jsonl", tmp_path / "dead.jsonl"
    out.create(stream("events"))
    name = stream("one")
    if broker.scheme == "mqtt":
        out.subscribe_session(name, stream("events"))
    out.send(stream("events"), [(str(number).encode(), make_record(number)) for number in range(N)])
    out.flush() if hasattr(out, "flush") else None

    def command(**options):
        address = broker.address(stream("events"), **consumer_options(broker.scheme, name), **options)
        return [
            "classify", str(model), "--from", address, "-o", str(answers), "--dead-letters", str(dead),
            "--key", "id", "--label", "class", "--learn", "--checkpoint", str(tmp_path / "checkpoint"),
            "--checkpoint-every", "20 records", "--queue", "30", "-q",
        ]  # fmt: skip

    for method, n in (("acknowledge_records", 1), ("poll", 1), ("acknowledge_records", 2)):
        assert finish(fork(log, end_before, method, n, command())) == KILLED, log.read_text()
    assert finish(start(command(idle="5s"), log)) == 0, log.read_text()
    found = [json.loads(line)["key"] for line in answers.read_text().splitlines()]
    wanted = [f"r{number}" for number in range(N) if not is_poison(number)]
    assert sorted(found if exactly_once else set(found)) == sorted(wanted)
    n_dead = len(dead.read_text().splitlines())
    assert n_dead == N - len(wanted) if exactly_once else n_dead >= N - len(wanted)
