"""A client of the Open Inference Protocol that sends requests when they are due, whether or not others were answered.

It is written for little work per request, since it shares the machine with the server: kept connections, one write and
one parse per request, requests with a binary tensor and responses in JSON.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.server.history import Event

_DRAIN_DEADLINES = 4.0  # after the last arrival, wait for so many deadlines
_ID_DIGITS = 8


@dataclass
class Request:
    """A request of a stream and what became of it; times in seconds since the stream began."""

    name: str
    due: float
    rows: slice
    sent: float = float("nan")
    done: float = float("nan")
    outcome: str = ""
    n_right: int = 0


class _Connection(asyncio.Protocol):
    """A connection with at most one request in flight."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._content = b""
        self._body_at = self._length = 0
        self.request: Request | None = None
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._content += data
        if not self._body_at:
            end = self._content.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self._content[:end].lower()
            self._length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            self._body_at = end + 4
        if len(self._content) >= self._body_at + self._length:
            status, body = int(self._content[9:12]), self._content[self._body_at :]
            self._content, self._body_at = b"", 0
            self._client.on_response(self, status, body)

    def connection_lost(self, error: Exception | None) -> None:
        self._client.on_lost(self)


@dataclass
class Client:
    """Sends streams of requests to one server.

    Parameters
    ----------
    port : int
        Port on loopback.
    model : str
        Name of the model.
    X, y : arrays
        Records, and their labels.
    records : int
        Records per request.
    timeout_us : int
        Deadline that each request names.
    connections : int
        Connections that are kept; a request that is due when none is free is not sent.
    """

    port: int
    model: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    records: int
    timeout_us: int
    connections: int = 256
    _free: deque[_Connection] = field(default_factory=deque)
    _all: list[_Connection] = field(default_factory=list)
    _done: Callable[[], None] = lambda: None
    _began: float = 0.0
    _n_open: int = 0
    events: list[Event] = field(default_factory=list)

    async def connect(self, n: int) -> None:
        """Open connections until there are `n`."""
        loop = asyncio.get_running_loop()
        self._all = [found for found in self._all if not found.transport.is_closing()]
        while len(self._all) < n:
            _, connection = await loop.create_connection(lambda: _Connection(self), "127.0.0.1", self.port)
            self._all.append(connection)
        self._free = deque(self._all)

    def close(self) -> None:
        """Close all connections."""
        for connection in self._all:
            connection.transport.abort()
        self._all, self._free = [], deque()

    async def run(self, times: NDArray[np.float64], within_s: float) -> list[Request]:
        """Send one request at each of these times; return all of them when each has its outcome."""
        await self.connect(self.connections)
        requests = [self._make(i, due) for i, due in enumerate(times.tolist())]
        self.events, self._n_open = [], len(requests)
        all_done = asyncio.Event()
        self._done = all_done.set
        self._began = time.monotonic()
        for request in requests:
            while (left := request.due - self._now()) > 0:
                await asyncio.sleep(left)
            self.events.append(Event(request.name, "due", request.due))
            if self._free:
                self._send(self._free.pop(), request)
            else:
                self._finish(request, "unsent")
            if len(self.events) % 64 == 0:
                await asyncio.sleep(0)  # when it is behind, responses are read all the same
        left = float(times[-1]) + _DRAIN_DEADLINES * within_s - self._now()
        try:
            await asyncio.wait_for(all_done.wait(), max(left, 0.01))
        except TimeoutError:
            for connection in self._all:
                if (request := connection.request) is not None:
                    connection.request = None
                    connection.transport.abort()
                    self._finish(request, "unanswered")
        return requests

    async def measure_capacity(self, seconds: float, in_flight: int) -> tuple[float, NDArray[np.float64]]:
        """Keep so many requests in flight; return responses per second and the time of each."""
        await self.connect(in_flight)
        all_done = asyncio.Event()
        self._done, self.events, self._n_open = all_done.set, [], 10**9
        self._began = time.monotonic()
        made: list[Request] = []

        def send(connection: _Connection) -> None:
            made.append(self._make(len(made), self._now()))
            self._send(connection, made[-1])

        self._on_free: Callable[[_Connection], None] | None = lambda connection: (
            send(connection) if self._now() < seconds else all_done.set()
        )
        try:
            for connection in list(self._free):
                send(connection)
            await asyncio.wait_for(all_done.wait(), seconds + 30)
        finally:
            self._on_free = None
            self.close()
        answered = [request for request in made if request.outcome == "answered"]
        if not answered:
            raise RuntimeError(f"the server answered none of {len(made)} requests")
        times = np.array([request.done - request.sent for request in answered])
        return len(answered) / max(request.done for request in answered), times

    _on_free = None

    def on_response(self, connection: _Connection, status: int, body: bytes) -> None:
        request, connection.request = connection.request, None
        if request is None:
            raise RuntimeError("a response to no request")
        if status == 200:
            found = json.loads(body)
            labels = np.array(found["outputs"][0]["data"])
            request.n_right = int(np.count_nonzero(labels == self.y[request.rows]))
            if found["id"] != request.name:  # the check of the history finds it
                self.events.append(Event(found["id"], "answered", self._now()))
        self._finish(request, "answered" if status == 200 else "refused" if status == 503 else "failed")
        if self._on_free is not None:
            self._on_free(connection)
        else:
            self._free.append(connection)

    def on_lost(self, connection: _Connection) -> None:
        if connection in self._free:
            self._free.remove(connection)
        if (request := connection.request) is not None:
            connection.request = None
            self._finish(request, "failed")
            if self._on_free is not None:
                self._done()

    def _make(self, number: int, due: float) -> Request:
        first = number * self.records % (len(self.X) - self.records + 1)
        return Request(f"{number:0{_ID_DIGITS}}", due, slice(first, first + self.records))

    def _send(self, connection: _Connection, request: Request) -> None:
        raw = self.X[request.rows].tobytes()
        head = (
            f'{{"id":"{request.name}","inputs":[{{"name":"features","shape":[{self.records},{self.X.shape[1]}],'
            f'"datatype":"FP64","parameters":{{"binary_data_size":{len(raw)}}}}}],"outputs":[{{"name":"label"}}],'
            f'"parameters":{{"timeout":{self.timeout_us}}}}}'
        )
        connection.request = request
        request.sent = self._now()
        self.events.append(Event(request.name, "sent", request.sent))
        connection.transport.write(
            (
                f"POST /v2/models/{self.model}/infer HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                f"Inference-Header-Content-Length: {len(head)}\r\nContent-Length: {len(head) + len(raw)}\r\n\r\n{head}"
            ).encode()
            + raw
        )

    def _finish(self, request: Request, outcome: str) -> None:
        request.outcome, request.done = outcome, self._now()
        self.events.append(Event(request.name, outcome, request.done))
        self._n_open -= 1
        if self._n_open == 0:
            self._done()

    def _now(self) -> float:
        return time.monotonic() - self._began
