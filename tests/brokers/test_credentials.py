"""Passwords of brokers: where a process shows or stores anything, they are not in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from anystream.connectors.kafka import KafkaSource
from anystream.connectors.schema import Column, Schema
from brokers.certificates import make_credentials
from brokers.kills import consumer_options
from brokers.outside import make_record, wait_until
from brokers.servers import SERVERS, start_or_skip

SCHEMA = Schema((Column("a"), Column("b"), Column("c")), key="id")
N = 60
WRONG = "wrong-but-secret"


@pytest.fixture(scope="module", params=list(SERVERS))
def secure(request, tmp_path_factory):
    server = start_or_skip(request.param, tmp_path_factory.mktemp(f"secure-{request.param}"), make_credentials)
    yield server
    server.kill()


def give(secure, password, way, folder):
    """Options of an address and an environment that hand over user and password in one of two ways."""
    name = f"ANYSTREAM_{secure.scheme.upper()}"
    if way == "environment":
        return {}, {f"{name}_USER": secure.credentials.user, f"{name}_PASSWORD": password}
    folder.mkdir()
    (folder / "password").write_text(password + "\n")
    return {"user": secure.credentials.user, "password_file": folder / "password"}, {}


def run(secure, model, folder, stream, password, way, *more, **options):
    """Run the program in a process of its own; return its exit code, its output and its command lines in `ps`."""
    given, environment = give(secure, password, way, folder / "given")
    given |= secure.credentials.options()
    consumer = consumer_options(secure.scheme, stream("c"))
    arguments = [
        "classify", model, "--from", secure.address(stream("events"), **consumer, **given, **options),
        "--to", secure.address(stream("answers"), **given), "--dead-letters", secure.address(stream("dead"), **given),
        "--key", "id", "--label", "class", "--learn", "--checkpoint", folder / "checkpoint",
        "--checkpoint-every", "10 records", "--within", "50ms", *more,
    ]  # fmt: skip
    seen = []
    with open(folder / "output", "wb") as output:
        command = [sys.executable, "-m", "anystream", *map(str, arguments)]
        process = subprocess.Popen(command, stdout=output, stderr=output, env=os.environ | environment)
        try:
            wait_until(lambda: seen.append(list_processes(process.pid)) or process.poll() is not None, 60.0, 0.3)
        finally:
            process.kill()
            code = process.wait()
    return code, (folder / "output").read_text(), [text for text in seen if text]


def list_processes(parent):
    """Command lines of a process and its children, as `ps` shows them."""
    command = ["ps", "-ww", "-o", "args=", "-p", str(parent), "--ppid", str(parent)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def read_files(folder):
    return b"".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())


@pytest.mark.parametrize("way", ["environment", "file"])
def test_a_password_is_in_no_command_line_output_summary_checkpoint_answer_or_dead_letter(
    secure, model, stream, outside, tmp_path, way
):
    out = outside(secure)
    out.create(*map(stream, ("events", "answers", "dead")))
    if secure.scheme == "mqtt":
        out.subscribe_session(stream("c"), stream("events"))
    out.send(stream("events"), [(str(number).encode(), make_record(number)) for number in range(N)])
    if hasattr(out, "flush"):
        out.flush()
    password = secure.credentials.password
    code, text, command_lines = run(secure, model, tmp_path, stream, password, way, idle="3s")
    assert code == 0, text
    assert "answered" in text, text  # the summary
    assert any("anystream classify" in line for line in command_lines)
    assert password not in text + "".join(command_lines)
    checkpoints = read_files(tmp_path / "checkpoint")
    assert checkpoints
    assert password.encode() not in checkpoints
    written = [*out.read(stream("answers")), *out.read(stream("dead"))]
    assert len(written) == N
    assert password not in repr(written)


@pytest.mark.parametrize("way", ["environment", "file"])
def test_a_password_that_is_refused_is_in_no_command_line_and_no_message(secure, model, stream, tmp_path, way):
    code, text, command_lines = run(secure, model, tmp_path, stream, WRONG, way, "--give-up-after", "30s")
    assert code == 2, text
    assert "refuses the connection" in text
    assert WRONG not in text + "".join(command_lines)
    assert WRONG.encode() not in read_files(tmp_path / "checkpoint")


@pytest.mark.parametrize("command", ["classify", "replay"])
def test_help_shows_an_example_of_each_broker_and_no_password_of_the_environment(command):
    names = [f"ANYSTREAM_{scheme.upper()}_{what}" for scheme in SERVERS for what in ("USER", "PASSWORD")]
    environment = os.environ | dict.fromkeys(names, WRONG) | {"COLUMNS": "200"}
    shown = subprocess.run(
        [sys.executable, "-m", "anystream", command, "--help"], capture_output=True, text=True, env=environment
    )
    assert shown.returncode == 0
    assert WRONG not in shown.stdout + shown.stderr
    assert all(f"{scheme}://HOST" in shown.stdout for scheme in (SERVERS if command == "classify" else ["kafka"]))


def test_a_password_in_the_address_of_a_schema_registry_is_an_error_that_does_not_show_it():
    where = "kafka://127.0.0.1:1/events?registry=http://me:hidden-word@127.0.0.1:1"
    with pytest.raises(ValueError, match="ANYSTREAM_REGISTRY_PASSWORD") as caught:
        KafkaSource(where, SCHEMA, value_format="avro")
    assert "hidden-word" not in str(caught.value)
