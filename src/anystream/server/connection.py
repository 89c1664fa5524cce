"""HTTP connections that are closed when there are too many, or when a client is too slow."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from anystream.server.arrival import arrival_now
from anystream.server.joined_writes import JoinedWrites
from anystream.server.limits import BODY_COMPLETE, Limits

ARRIVAL = "anystream.arrival"
"""Key in the scope of a request: the instant of its arrival, on the clock of `time.monotonic`."""
DISCONNECT = "anystream.disconnect"
"""Key in the scope of a request: a list of functions that are called when the client has closed the connection."""

_BODY_HEADERS = (b"content-length", b"transfer-encoding")
_CLOSE = b"Content-Type: application/json\r\nConnection: close\r\n"
_TOO_MANY = b'{"error":"there are too many connections; try again later"}'
_TOO_MANY_RESPONSE = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n%sContent-Length: %d\r\n\r\n%s" % (
    _CLOSE,
    len(_TOO_MANY),
    _TOO_MANY,
)
_HEADERS = b'{"error":"the headers are too large; send fewer"}'
_HEADERS_RESPONSE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n%sContent-Length: %d\r\n\r\n%s" % (
    _CLOSE,
    len(_HEADERS),
    _HEADERS,
)


class LimitedConnection(HttpToolsProtocol):
    """A connection whose client must send headers, and read responses, within the limits.

    The body of a request has a limit of its own, see `anystream.server.limits.read_body`; so has the time between two
    requests, by uvicorn. A response to a request whose body was not read to its end closes the connection.
    """

    limits: ClassVar[Limits]
    _headers_due: asyncio.TimerHandle | None = None
    _reading_due: asyncio.TimerHandle | None = None
    _header_bytes = 0  # received since the last request was complete
    _reads_headers = False
    _repeats_headers = False  # of a request that is started already
    _unanswered: tuple[Any, ...] = ()  # scopes of requests without a complete response, in their order

    @classmethod
    def with_limits(cls, limits: Limits) -> type[LimitedConnection]:
        """Return a class of connections with these limits; uvicorn makes the instances."""
        return type("LimitedConnection", (cls,), {"limits": limits})

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first headers."""
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]  # what uvicorn uses of it
        if len(self.connections) > self.limits.max_connections:
            self.transport.write(_TOO_MANY_RESPONSE)
            self.transport.close()
        else:
            self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        """Read; begin to wait for headers when those of a further request have begun."""
        self._unset_keepalive_if_required()
        self._feed(data)
        if self.transport.is_closing():
            return
        if self._reads_headers:
            self._header_bytes += len(data)
            if self._header_bytes > self.limits.max_header_bytes:
                self._end_request(_HEADERS_RESPONSE)
                return
        if self.cycle is not None and not self.cycle.response_complete:  # the headers are complete
            self._cancel_headers_due()
        elif self._headers_due is None:
            self._wait_for_headers()

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._decline_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")

    def _decline_upgrade(self, rest: bytes) -> None:
        """Continue in HTTP/1.1 after headers that offer another protocol: the parser would not read the body."""
        length = [b"%s: %s\r\n" % header for header in self.headers if header[0] in _BODY_HEADERS]
        self.parser = httptools.HttpRequestParser(self)
        self._repeats_headers = True
        self._feed(b"POST / HTTP/1.1\r\n" + b"".join(length) + b"\r\n" + rest)

    def on_message_begin(self) -> None:
        """Note the arrival of a request."""
        if self._repeats_headers:
            return
        super().on_message_begin()
        self._reads_headers = True
        scope: Any = self.scope
        scope[ARRIVAL], scope[DISCONNECT] = arrival_now(), []

    def on_url(self, url: bytes) -> None:
        """Read the path."""
        if not self._repeats_headers:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Read a header."""
        if not self._repeats_headers:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the request."""
        if self._repeats_headers:
            self._repeats_headers = False
            return
        self._reads_headers, self._header_bytes = False, 0
        self._unanswered += (self.scope,)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End the body; headers that offer another protocol are followed by it."""
        if not self.parser.should_upgrade():
            scope: Any = self.scope
            scope[BODY_COMPLETE] = True
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Respond to bytes that are not HTTP, unless a response has begun, and end the request that they belong to."""
        text = msg.encode()
        self._end_request(
            b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(text), text)
        )

    def _end_request(self, response: bytes) -> None:
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            self.transport.write(response)
        self.transport.close()
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        """Close the connection if the client still sends the body: reading it could take forever."""
        self._unanswered = self._unanswered[1:]
        sends_body = not self.pipeline and self.cycle.more_body
        super().on_response_complete()
        if sends_body:
            self.transport.close()

    def pause_writing(self) -> None:
        """Begin to wait for a client that does not read its response."""
        super().pause_writing()
        self._reading_due = self.loop.call_later(self.limits.write_s, self.transport.abort)

    def resume_writing(self) -> None:
        """End the wait."""
        super().resume_writing()
        self._cancel_reading_due()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the timers, and tell the requests that wait for answers."""
        super().connection_lost(exc)
        self._cancel_headers_due()
        self._cancel_reading_due()
        for scope in self._unanswered:
            for function in scope[DISCONNECT]:
                function()

    def _wait_for_headers(self) -> None:
        self._headers_due = self.loop.call_later(self.limits.read_s, self.transport.close)

    def _cancel_headers_due(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _cancel_reading_due(self) -> None:
        if self._reading_due is not None:
            self._reading_due.cancel()
            self._reading_due = None
