"""Addresses of streams in brokers, and calls to a broker that is away."""

import pytest

from anystream.connectors.broker_address import BrokerAddress, is_address
from anystream.connectors.broker_retry import BrokerAwayError, Retry


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ftp://host/x", "is no address; write SCHEME://HOST:PORT/STREAM"),
        ("kafka://host", "is no address"),
        ("kafka://host/", "names no stream"),
        ("redis://host:x/s", "'host:x' is no server"),
        ("redis://me:secret@host/s", "an address may not hold a password"),
        ("redis://me:secret@host", r"'redis://me:\*\*\*@host' is no address"),
        ("redis://me:secret/more@host/s", r"'redis://me:\*\*\*@host/s': what follows :// is no server"),
        ("ftp://:secret@host/s", r"'ftp://:\*\*\*@host/s' is no address"),
    ],
)
def test_a_malformed_address_is_an_error_with_a_remedy_and_without_the_password(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        BrokerAddress.parse(text)
    assert "secret" not in str(caught.value)


def test_a_password_comes_from_a_file_or_the_environment_and_is_never_shown(tmp_path, monkeypatch):
    (tmp_path / "password").write_text("from file\n")
    address = BrokerAddress.parse(f"redis://me@host/s?password_file={tmp_path / 'password'}")
    assert (address.user, address.password) == ("me", "from file")
    assert "from file" not in repr(address) + str(address)
    monkeypatch.setenv("ANYSTREAM_KAFKA_PASSWORD", "from environment")
    monkeypatch.setenv("ANYSTREAM_KAFKA_USER", "you")
    address = BrokerAddress.parse("kafka://host/t")
    assert (address.user, address.password) == ("you", "from environment")


def test_options_are_checked_by_name_and_value():
    address = BrokerAddress.parse("mqtt://host/a/b?tls=1&wait=200ms&n=0&t=soon")
    assert (address.stream, address.hosts, address.tls) == ("a/b", (("host", 8883),), True)
    assert address.seconds("wait", None) == 0.2
    with pytest.raises(ValueError, match="there is no option 'wait'; the options are"):
        address.check_options(["n", "t"])
    with pytest.raises(ValueError, match="the option n is '0'"):
        address.number("n", 5)
    with pytest.raises(ValueError, match="the option t is 'soon'; write a time"):
        address.seconds("t", None)


@pytest.mark.parametrize(("text", "expected"), [("kafka://h/t", True), ("a.csv", False), ("-", False), (None, False)])
def test_an_address_is_told_from_a_path(text, expected):
    assert is_address(text) is expected


def test_a_broker_that_is_away_is_reported_once_and_tried_again():
    reports, calls = [], []
    retry = Retry("kafka://h/t", (OSError,), report=reports.append)

    def fail_twice():
        calls.append(1)
        if len(calls) < 3:
            raise ConnectionRefusedError("refused\nand more")
        return "done"

    assert retry.call(fail_twice) == "done"
    assert reports[0] == "kafka://h/t cannot be reached (refused); trying again"
    assert len(reports) == 2
    assert reports[1].startswith("kafka://h/t is reached again after")


def test_an_attempt_does_not_wait_for_a_broker_that_is_away():
    retry = Retry("b", (OSError,), report=lambda text: None)
    calls = []

    def fail():
        calls.append(1)
        raise OSError("away")

    assert retry.attempt(fail) is None
    assert retry.attempt(fail) is None
    assert (len(calls), retry.away) == (1, True)


def test_after_a_while_it_gives_up():
    retry = Retry("b", (OSError,), give_up_after_s=0.1, report=lambda text: None)

    def fail():
        raise OSError("away")

    with pytest.raises(BrokerAwayError, match="could not be reached for 0"):
        retry.call(fail)


def test_another_error_is_raised_at_once():
    with pytest.raises(KeyError):
        Retry("b", (OSError,)).call(lambda: {}["x"])


def test_refused_credentials_are_not_tried_again():
    def refuse():
        raise PermissionError("no such user")

    retry = Retry("redis://host/s", (OSError,), refusals=(PermissionError,), report=lambda text: None)
    for call in (retry.call, retry.attempt):
        with pytest.raises(ValueError, match=r"redis://host/s refuses the connection \(no such user\)"):
            call(refuse)
