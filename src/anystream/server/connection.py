"""HTTP connections that are closed when there are too many, or when a client is too slow."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from anystream.server.limits import Limits

_TOO_MANY = b'{"error":"there are too many connections; try again later"}'
_TOO_MANY_RESPONSE = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_TOO_MANY), _TOO_MANY)
)


class LimitedConnection(H11Protocol):
    """A connection whose client must send headers, and read responses, within the limits.

    The body of a request has a limit of its own, see `anystream.server.limits.read_body`; so has the time between two
    requests, by uvicorn. A response to a request whose body was not read to its end closes the connection.
    """

    limits: ClassVar[Limits]
    _headers_due: asyncio.TimerHandle | None = None
    _reading_due: asyncio.TimerHandle | None = None

    @classmethod
    def with_limits(cls, limits: Limits) -> type[LimitedConnection]:
        """Return a class of connections with these limits; uvicorn makes the instances."""
        return type("LimitedConnection", (cls,), {"limits": limits})

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first headers."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.max_connections:
            transport.write(_TOO_MANY_RESPONSE)
            transport.close()
        else:
            self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        """Read; begin to wait for headers when those of a further request have begun."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:  # the headers are complete
            self._cancel_headers_due()
        elif self._headers_due is None and not self.transport.is_closing():
            self._wait_for_headers()

    def send_400_response(self, msg: str) -> None:
        """Respond to bytes that are not HTTP, unless a response has begun, and end the request that they belong to."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        """Close the connection if the client still sends the body: reading it could take forever."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
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
        """End the timers."""
        super().connection_lost(exc)
        self._cancel_headers_due()
        self._cancel_reading_due()

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
