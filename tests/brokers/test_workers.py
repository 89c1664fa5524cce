"""``anystream classify --workers`` with brokers that share out a stream among the workers."""

import json
import os
import signal
from pathlib import Path

import pytest

from brokers.history import check_history
from brokers.kills import send_slowly
from brokers.outside import make_record, wait_until
from brokers.program import finish, fork, start

N, PER_S = 3_000, 150  # 20 s, in which slow machines start two workers as well
OPTIONS = {
    "kafka": {"session_timeout": "6s", "consumer": "c", "idle": "8s"},  # a worker has its partitions back at once
    "redis": {"claim_after": "2s", "idle": "5s"},  # the messages of a dead worker go to others
}


def find_workers(program):
    """Process ids of the workers of a program, oldest first."""
    tasks = Path("/proc", str(program), "task").iterdir()
    children = [child for task in tasks for child in (task / "children").read_text().split()]
    return sorted(int(child) for child in children if b"spawn_main" in Path("/proc", child, "cmdline").read_bytes())


def members_with_checkpoints(folder):
    return [path.name for path in folder.glob("member-*") if any(path.glob("checkpoint-*"))]


@pytest.mark.parametrize("broker", list(OPTIONS), indirect=True)
def test_two_workers_share_a_stream_and_one_is_killed(broker, model, stream, outside, tmp_path):
    out, log, folder = outside(broker), tmp_path / "log", tmp_path / "state"
    out.create(*map(stream, ("events", "answers", "dead")))
    feeder = fork(log, send_slowly, broker, N, PER_S, stream("events"))
    arguments = [
        "classify", model, "--workers", "2",
        "--from", broker.address(stream("events"), group=stream("g"), **OPTIONS[broker.scheme]),
        "--to", broker.address(stream("answers")), "--dead-letters", broker.address(stream("dead")),
        "--key", "id", "--label", "class", "--checkpoint", folder, "--checkpoint-every", "50 records", "--json",
    ]  # fmt: skip
    program = start(arguments, log)
    wait_until(lambda: len(members_with_checkpoints(folder)) == 2, timeout_s=60)  # both have answered records
    os.kill(find_workers(program)[0], signal.SIGKILL)
    assert finish(feeder, 60) == 0, log.read_text()
    assert finish(program, 120) == 0, log.read_text()
    sent = {number: make_record(number) for number in range(N)}
    assert check_history(sent, out.read(stream("answers")), out.read(stream("dead"))) == (N, [], 0, [], 0)
    assert json.loads(log.read_text().splitlines()[-1])["workers_lost"] == 1
