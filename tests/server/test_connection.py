"""Connections over raw sockets: upgrades that are ignored, requests after each other, and when a request arrived."""

import asyncio
import json
import socket
import time

import pytest

from anystream.server.arrival import ArrivalLoop, arrival_now
from anystream.server.joined_writes import JoinedWrites
from server.serving import serving
from server.test_limits import RECORD, connect, read_all


@pytest.fixture(scope="module")
def served(model_files):
    with serving(model_files / "numbers.safetensors") as found:
        yield found


def request(*headers, close=False):
    lines = ["POST /v1/classify HTTP/1.1", "Host: x", "Request-Timeout-Ms: 20000", f"Content-Length: {len(RECORD)}"]
    lines += [*headers, "Connection: close"] if close else headers
    return "\r\n".join([*lines, "", ""]).encode() + RECORD


def test_a_client_that_offers_http_2_is_answered_in_http_1_and_can_send_more(served):
    offer = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk")
    with connect(served) as connection:
        connection.sendall(request(*offer) + request(*offer) + request(close=True))
        responses = read_all(connection)
    assert responses.count(b"HTTP/1.1 200 ") == 3
    assert responses.count(b'"label"') == 3


def test_requests_in_one_packet_are_answered_in_their_order(served):
    with connect(served) as connection:
        paths = [b"/healthz", b"/v2/health/live", b"/nothing", b"/healthz"]
        connection.sendall(b"".join(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path for path in paths[:-1]))
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % paths[-1])
        responses = read_all(connection)
    bodies = [part.partition(b"\r\n\r\n")[2] for part in responses.split(b"HTTP/1.1 ")[1:]]
    assert [sorted(json.loads(body)) for body in bodies] == [["status"], ["live"], ["error"], ["status"]]


def test_headers_that_never_end_are_refused(served):
    with connect(served) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        try:
            for i in range(300):
                connection.sendall(b"x-%d: %s\r\n" % (i, b"a" * 1000))
        except ConnectionError:
            return  # closed while the client still sends
        assert read_all(connection).startswith(b"HTTP/1.1 431 ")


def test_data_that_came_while_the_loop_was_busy_arrived_before_it_was_read():
    arrivals = []

    async def run():
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours)
        asyncio.get_running_loop().call_soon(lambda: (theirs.sendall(b"a"), time.sleep(0.2)))
        sent = time.monotonic()
        protocol = writer.transport.get_protocol()
        received = protocol.data_received
        protocol.data_received = lambda data: (arrivals.append((arrival_now(), time.monotonic())), received(data))
        writer.transport.set_protocol(protocol)
        await reader.readexactly(1)
        writer.close()
        theirs.close()
        return sent

    with asyncio.Runner(loop_factory=ArrivalLoop) as runner:
        sent = runner.run(run())
    arrived, read = arrivals[0]
    assert read - sent >= 0.2
    assert arrived <= sent + 0.1


def test_headers_and_body_are_written_in_one_piece():
    class Transport:
        def __init__(self):
            self.pieces, self.closed = [], False

        def write(self, data):
            self.pieces.append(data)

        def is_closing(self):
            return self.closed

        def close(self):
            self.closed = True

    transport = Transport()

    async def run():
        joined = JoinedWrites(transport, asyncio.get_running_loop())
        joined.write(b"headers ")
        joined.write(b"body")
        await asyncio.sleep(0)
        joined.write(b"last")
        joined.close()
        await asyncio.sleep(0)

    asyncio.run(run())
    assert (transport.pieces, transport.closed) == ([b"headers body", b"last"], True)
