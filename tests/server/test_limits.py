"""Bounds on bodies, headers, connections and slow clients, over raw sockets."""

import contextlib
import socket
import time

import pytest

from anystream.server.limits import Limits
from server.serving import serving, wait_until

RECORD = b'{"0": 1.0, "1": 2.0, "2": 0.5, "3": 1.0}'


@pytest.fixture(scope="module")
def tight(model_files):
    """A server with small bounds."""
    limits = Limits(max_body_bytes=10_000, max_header_bytes=4_000, max_connections=8, read_s=0.5, write_s=0.5, idle_s=1)
    with serving(model_files / "numbers.safetensors", limits=limits) as served:
        yield served


@contextlib.contextmanager
def connect(served):
    connection = socket.create_connection(("127.0.0.1", served.port), timeout=60)
    with contextlib.closing(connection):
        yield connection


def read_all(connection):
    """Read until the server closes the connection."""
    content = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(65536):
            content += chunk
    return content


def is_alive(served):
    return served.post("/v1/classify", RECORD).status == 200


def head(*lines):
    return "\r\n".join(["POST /v1/classify HTTP/1.1", "Host: x", *lines, "", ""]).encode()


def test_a_body_that_is_too_large_is_refused_by_its_length(tight):
    with connect(tight) as connection:
        connection.sendall(head("Content-Length: 10001"))
        assert read_all(connection).startswith(b"HTTP/1.1 413")
    with connect(tight) as connection:
        connection.sendall(head("Content-Length: " + "9" * 30))
        assert read_all(connection).startswith(b"HTTP/1.1 4")
    assert is_alive(tight)


def test_a_chunked_body_that_is_too_large_is_cut_off(tight):
    with connect(tight) as connection:
        connection.sendall(head("Transfer-Encoding: chunked"))
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                connection.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")
        answer = read_all(connection)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 413")
    assert is_alive(tight)


def test_bodies_that_fill_the_memory_together_are_refused(model_files):
    limits = Limits(max_body_bytes=10_000, max_total_bytes=15_000)
    with serving(model_files / "numbers.safetensors", limits=limits) as served:
        with connect(served) as held:
            held.sendall(head("Content-Length: 9001") + b" " * 9000)
            answers = set()
            while 503 not in answers:  # until the server has read the first
                answers.add(served.post("/v1/classify", RECORD + b" " * 9000).status)
            assert answers <= {200, 503}
            assert is_alive(served)  # a small one
        wait_until(lambda: served.post("/v1/classify", RECORD + b" " * 9000).status == 200)


def test_many_small_chunks_are_one_body(tight):
    with connect(tight) as connection:
        connection.sendall(head("Transfer-Encoding: chunked", "Request-Timeout-Ms: 20000", "Connection: close"))
        for byte in RECORD:
            connection.sendall(b"1\r\n" + bytes([byte]) + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
        assert read_all(connection).startswith(b"HTTP/1.1 200")


def test_headers_that_are_too_large_are_refused(tight):
    with connect(tight) as connection:
        connection.sendall(head("X-Long: " + "x" * 100_000))
        answer = read_all(connection)
        assert answer == b"" or answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))
    assert is_alive(tight)


@pytest.mark.parametrize("begun", [b"", b"POST /v1/cl", b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_a_client_that_does_not_finish_its_headers_is_cut_off(tight, begun):
    with connect(tight) as connection:
        connection.sendall(begun)
        assert read_all(connection) == b""


def test_headers_that_drip_are_cut_off_all_the_same(tight):
    with connect(tight) as connection, contextlib.suppress(ConnectionError):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            connection.sendall(b"X")
            time.sleep(0.05)
        pytest.fail("the server let the headers drip for a minute")


def test_a_body_that_does_not_come_is_an_error_of_the_client(tight):
    with connect(tight) as connection:
        connection.sendall(head("Content-Length: 100") + b"{")
        assert read_all(connection).startswith(b"HTTP/1.1 408")
    assert is_alive(tight)


def test_a_client_that_does_not_read_its_responses_is_cut_off(model_files):
    body = b"\0" * (4 * 4 * 8000)  # as float32; a response has a megabyte
    lines = ["Content-Type: application/octet-stream", "Request-Timeout-Ms: 20000", f"Content-Length: {len(body)}"]
    with serving(model_files / "numbers.safetensors", limits=Limits(write_s=0.2)) as served:
        with contextlib.closing(socket.socket()) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.settimeout(60)
            slow.connect(("127.0.0.1", served.port))
            with contextlib.suppress(ConnectionError):
                slow.sendall(50 * (head(*lines) + body))  # their responses fill the buffers of the system
            wait_until(lambda: not served.server._uvicorn.server_state.connections)  # the client has its end open
        assert is_alive(served)


def test_more_connections_than_allowed_are_refused_and_the_others_work(tight):
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(connect(tight))
        with connect(tight) as refused:
            answer = read_all(refused)
            assert answer.startswith(b"HTTP/1.1 503")
            assert b"Retry-After" in answer
    until = time.monotonic() + 60
    while True:
        with contextlib.suppress(OSError):
            if is_alive(tight):
                return
        assert time.monotonic() < until


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /%00%ff%2e%2e HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        head("Content-Length: -1"),
        head("Content-Length: x"),
        head("Content-Length: 5", "Content-Length: 6"),
        head("Transfer-Encoding: chunked") + b"zz\r\n",
        head("Expect: 100-continue", "Content-Length: 2", "Connection: close") + b"{}",
        b"GET /v2 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n",
    ],
)
def test_malformed_requests_get_4xx_and_the_server_lives(tight, request_bytes):
    with connect(tight) as connection:
        connection.sendall(request_bytes)
        answer = read_all(connection)
        assert b"Traceback" not in answer
        assert not answer.startswith(b"HTTP/1.1 5")
    assert is_alive(tight)


def test_a_client_that_closes_half_of_its_connection_does_no_harm(tight):
    with connect(tight) as connection:
        connection.sendall(head(f"Content-Length: {len(RECORD)}") + RECORD)
        connection.shutdown(socket.SHUT_WR)
        read_all(connection)
    assert is_alive(tight)


@pytest.mark.parametrize(("name", "value"), [("within_s", 0.0), ("max_body_bytes", -1), ("read_s", float("nan"))])
def test_invalid_limits_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})


@pytest.mark.parametrize("path", ["/v1/classify", "/v1/nothing"])  # one reads the body, the other responds without it
def test_a_malformed_chunk_gets_one_400_and_no_error_in_the_log(tight, path, caplog):
    with connect(tight) as connection:
        lines = [f"POST {path} HTTP/1.1", "Host: x", "Transfer-Encoding: chunked", "", "zz", "not a chunk", ""]
        connection.sendall("\r\n".join(lines).encode())
        answer = read_all(connection)
    assert answer.count(b"HTTP/1.1") == 1
    assert answer.startswith(b"HTTP/1.1 400")
    assert is_alive(tight)
    assert [found for found in caplog.records if found.exc_info] == []


def test_a_malformed_chunk_after_the_response_closes_the_connection(tight, caplog):
    with connect(tight) as connection:
        connection.sendall(b"GET /v1/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.sendall(b"zz\r\nnot a chunk\r\n")
        read_all(connection)
    assert is_alive(tight)
    assert [found for found in caplog.records if found.exc_info] == []
