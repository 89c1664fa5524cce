"""A cluster whose head is busy when a program connects."""

import pytest

ADDRESS = "ray://127.0.0.1:1"
FAILURE = r"Initialization failure from server:\nTraceback\nRuntimeError: Starting Ray client server failed.\n"


def failing_init(monkeypatch, n_failures):
    """Make ``ray.init`` fail `n_failures` times as a head does that cannot start a process; return its calls."""
    connection = pytest.importorskip("anystream.distributed.ray_connection")
    calls = []

    def init(address, **_):
        calls.append(address)
        if len(calls) <= n_failures:
            raise ConnectionAbortedError(FAILURE)

    monkeypatch.setattr(connection.ray, "init", init)
    monkeypatch.setattr(connection.ray, "is_initialized", lambda: False)
    monkeypatch.setattr(connection.ray, "shutdown", lambda: None)
    monkeypatch.setattr(connection.time, "sleep", lambda _: None)
    return connection.connect, calls


def test_connecting_is_tried_again(monkeypatch):
    connect, calls = failing_init(monkeypatch, 2)
    with pytest.warns(RuntimeWarning, match=r"Starting Ray client server failed\.; trying again"):
        connect(ADDRESS)
    assert calls == [ADDRESS] * 3


@pytest.mark.filterwarnings("ignore:.*trying again")
def test_a_head_that_never_starts_a_process_is_an_error(monkeypatch):
    connect, calls = failing_init(monkeypatch, 9)
    with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:1: RuntimeError: Starting .* \(4 attempts\)"):
        connect(ADDRESS)
    assert calls == [ADDRESS] * 4
