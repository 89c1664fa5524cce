"""A transport that sends what is written in one go in one piece."""

from __future__ import annotations

import asyncio
from typing import Any


class JoinedWrites:
    """Joins the headers and the body of a response: one system call and one packet instead of two.

    What is written is sent when the event loop continues, or before the connection is closed.

    Parameters
    ----------
    transport : Transport
        The connection.
    loop : AbstractEventLoop
        The event loop that it belongs to.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Append data."""
        if not self._written:
            self._loop.call_soon(self._send)
        self._written.append(data)

    def close(self) -> None:
        """Send what was written, and close the connection."""
        self._send()
        self._transport.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._written.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        """Tell whether the connection is closed or being closed."""
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        """Stop to read."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return addresses and the like."""
        return self._transport.get_extra_info(name, default)

    def _send(self) -> None:
        written, self._written = self._written, []
        if written and not self._transport.is_closing():
            self._transport.write(written[0] if len(written) == 1 else b"".join(written))
