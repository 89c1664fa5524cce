"""Brokers that accept only encrypted connections of clients with a certificate and a password."""

import pytest

from anystream.connectors.broker_source import OutMessage
from anystream.connectors.brokers import open_broker_source, open_publisher
from anystream.connectors.schema import Column, Schema
from brokers.certificates import make_credentials
from brokers.history import check_history
from brokers.kills import consumer_options
from brokers.outside import OUTSIDE, make_record
from brokers.program import finish, start
from brokers.servers import SERVERS, start_or_skip

SCHEMA = Schema((Column("a"), Column("b"), Column("c")), key="id")
N = 60


@pytest.fixture(scope="module", params=list(SERVERS))
def secure(request, tmp_path_factory):
    server = start_or_skip(request.param, tmp_path_factory.mktemp(f"secure-{request.param}"), make_credentials)
    OUTSIDE[server.scheme](server).create("events", "answers", "dead")
    yield server
    server.kill()


def address(server, stream, **options):
    return server.address(stream, **server.credentials.options(), **options)


def classify(server, model, log, password, *more, **options):
    """Run the program with user and password in the environment; return its exit code and everything it has printed."""
    where = address(server, "events", **consumer_options(server.scheme, "one"), **options)
    outputs = ["--to", address(server, "answers"), "--dead-letters", address(server, "dead")]
    arguments = ["classify", model, "--from", where, *outputs, "--key", "id", "--label", "class", *more]
    name = f"ANYSTREAM_{server.scheme.upper()}"
    environment = {f"{name}_USER": server.credentials.user, f"{name}_PASSWORD": password}
    return finish(start(arguments, log, environment)), log.read_text()


def test_records_are_answered_over_an_encrypted_connection_with_a_password(secure, model, outside, tmp_path):
    out = outside(secure)
    if secure.scheme == "mqtt":
        out.subscribe_session("one", "events")
    sent = {number: make_record(number) for number in range(N)}
    out.send("events", [(str(number).encode(), value) for number, value in sent.items()])
    if hasattr(out, "flush"):
        out.flush()
    code, text = classify(secure, model, tmp_path / "log", secure.credentials.password, idle="3s")
    assert code == 0, text
    assert check_history(sent, out.read("answers"), out.read("dead")) == (N, [], 0, [], 0)
    assert secure.credentials.password not in text


def test_a_wrong_password_is_refused_at_once_and_shown_nowhere(secure, model, tmp_path):
    code, text = classify(secure, model, tmp_path / "log", "wrong-but-secret", "--give-up-after", "30s")
    assert code == 2, text
    assert "refuses the connection" in text
    assert "could not be reached" not in text
    assert "Traceback" not in text
    assert "wrong-but-secret" not in text


def test_a_certificate_of_another_authority_is_not_trusted(secure, tmp_path):
    other = make_credentials(tmp_path)
    file = tmp_path / "password"
    file.write_text(secure.credentials.password)
    where = secure.address("events", **other.options(), user="anystream", password_file=file)
    publisher = open_publisher(where, give_up_after_s=0.5, report=lambda text: None)
    with pytest.raises(OSError, match=r"(?i)certificate"):
        publisher.publish([OutMessage("events", b"{}")])
    publisher.close()


def test_a_password_comes_from_a_file(secure, tmp_path):
    file = tmp_path / "password"
    file.write_text(secure.credentials.password + "\n")
    options = consumer_options(secure.scheme, "file") | {"user": "anystream", "password_file": file}
    source = open_broker_source(address(secure, "events", **options), SCHEMA, give_up_after_s=20.0)
    source.poll(10)  # raises if the broker refuses it
    assert not source._retry.away
    assert secure.credentials.password not in repr(source.address) + str(source.address)
    source.close()


def test_a_token_of_nats_is_a_password_without_a_user(tmp_path, monkeypatch):
    server = start_or_skip("nats", tmp_path, lambda folder: make_credentials(folder)._replace(user=None))
    try:
        monkeypatch.setenv("ANYSTREAM_NATS_PASSWORD", server.credentials.password)
        source = open_broker_source(address(server, "events"), SCHEMA)
        with pytest.raises(ValueError, match="no stream of JetStream has this subject"):
            source.poll(1)
        source.close()
    finally:
        server.kill()
