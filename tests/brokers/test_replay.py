"""Dead letters, sent again byte for byte."""

import json

from brokers.outside import POISON, make_record
from brokers.program import finish, start


def test_dead_letters_of_a_file_come_back_byte_for_byte(redis, model, stream, outside, tmp_path):
    out, log, dead = outside(redis), tmp_path / "log", tmp_path / "dead.jsonl"
    out.send(stream("events"), [(str(n).encode(), POISON[n % len(POISON)]) for n in range(10)])
    out.send(stream("events"), [(b"x", make_record(0))])
    arguments = [
        "classify", model, "--from", redis.address(stream("events"), group="g", idle="1s"),
        "--to", redis.address(stream("answers")), "--dead-letters", dead, "--key", "id", "-q",
    ]  # fmt: skip
    assert finish(start(arguments, log)) == 0, log.read_text()
    letters = [json.loads(line) for line in dead.read_text().splitlines()]
    assert {letter["origin"]["broker"] for letter in letters} == {"redis"}
    assert all(letter["origin"]["time_s"] > 1e9 and letter["reason"] for letter in letters)
    assert finish(start(["replay", dead, "--to", redis.address(stream("again"))], log)) == 0, log.read_text()
    again = out.read(stream("again"))
    expected = {(str(n).encode(), POISON[n % len(POISON)]) for n in range(10)}
    assert ({(found["key"], found["value"]) for found in again}, len(again)) == (expected, 10)
    assert "10 messages sent" in log.read_text()
