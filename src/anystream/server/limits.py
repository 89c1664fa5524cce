"""Limits of a server: sizes, counts and times that no client can exceed."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, fields

from starlette.requests import ClientDisconnect, Request
from starlette.types import Scope

from anystream.server.errors import BAD_REQUEST, TIMEOUT, TOO_LARGE, UNSUPPORTED_MEDIA, RefusedError, RequestError
from anystream.server.request_stream import MAX_ROWS

BODY_BYTES = "anystream.body_bytes"
"""Key in the scope of a request: the `BodyBytes` of the server."""
BODY_COMPLETE = "anystream.body_complete"
"""Key in the scope of a request: there once its body has arrived."""
_HELD = "anystream.held_bytes"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on requests.

    Parameters
    ----------
    within_s : float, default=0.05
        Seconds from the arrival of a request to its deadline, if it names none.
    max_within_s : float, default=60.0
        Maximum of that for requests that name one.
    max_waiting : int, default=10_000
        Maximum number of records per model that wait for their answers; further requests are refused.
    max_records : int, default=8192
        Maximum number of records in one request.
    max_body_bytes : int, default=67_108_864
        Maximum size of a request.
    max_total_bytes : int, default=536_870_912
        Maximum size of the bodies of all requests that are being served; further ones are refused.
    max_header_bytes : int, default=65_536
        Maximum size of the headers of a request.
    max_connections : int, default=1000
        Maximum number of open connections; further ones get status 503.
    read_s : float, default=10.0
        Seconds in which the headers, and then the body, of a request must arrive.
    write_s : float, default=10.0
        Seconds in which a client must read some of its response.
    idle_s : float, default=65.0
        Seconds that a connection may be idle between two requests.
    """

    within_s: float = 0.05
    max_within_s: float = 60.0
    max_waiting: int = 10_000
    max_records: int = 8192
    max_body_bytes: int = 64 * 2**20
    max_total_bytes: int = 512 * 2**20
    max_header_bytes: int = 64 * 2**10
    max_connections: int = 1000
    read_s: float = 10.0
    write_s: float = 10.0
    idle_s: float = 65.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (0 < value < math.inf):
                raise ValueError(f"{field.name} is {value}; use a positive number")
        if self.max_records > min(self.max_waiting, MAX_ROWS):
            raise ValueError(
                f"max_records is {self.max_records}; use at most max_waiting, which is {self.max_waiting}, "
                f"and at most {MAX_ROWS}"
            )

    def check_records(self, n_records: int) -> None:
        """Raise if a request has no record, or too many."""
        if n_records < 1:
            raise RequestError(BAD_REQUEST, "the request has no records; send at least one")
        if n_records > self.max_records:
            raise RequestError(
                TOO_LARGE, f"the request has {n_records} records, the maximum is {self.max_records}; send fewer at once"
            )


class BodyBytes:
    """Bytes of the bodies of all requests that are being served.

    Parameters
    ----------
    max_bytes : int
        The maximum.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held = 0

    def hold(self, scope: Scope, n_bytes: int) -> None:
        """Add bytes of a request; raise if there are too many in all."""
        if self._held + n_bytes > self._max_bytes:
            raise RefusedError("bodies_full", "the bodies of other requests fill the memory; try again later")
        self._held += n_bytes
        scope[_HELD] = scope.get(_HELD, 0) + n_bytes

    def release(self, scope: Scope) -> None:
        """Subtract the bytes of a request that has ended."""
        self._held -= scope.pop(_HELD, 0)


async def read_body(request: Request, limits: Limits) -> bytes:
    """Return the body of a request; raise when it is too large or too slow."""
    if (encoding := request.headers.get("content-encoding", "identity")) != "identity":
        raise RequestError(UNSUPPORTED_MEDIA, f"Content-Encoding is {encoding[:60]!r}; send the body uncompressed")
    declared = request.headers.get("content-length", "0")
    if len(declared) > 18 or int(declared) > limits.max_body_bytes:  # a number: the HTTP parser has checked it
        raise _too_large(limits)
    try:
        if BODY_COMPLETE in request.scope:  # the usual case: there is nothing to wait for
            return await _read_chunks(request, limits)
        async with asyncio.timeout(limits.read_s):
            return await _read_chunks(request, limits)
    except TimeoutError:
        raise RequestError(
            TIMEOUT, f"the body did not arrive within {limits.read_s:g} seconds; send it faster"
        ) from None
    except ClientDisconnect:
        raise RequestError(BAD_REQUEST, "the client closed the connection") from None


async def _read_chunks(request: Request, limits: Limits) -> bytes:
    chunks, n_bytes = [], 0
    async for chunk in request.stream():
        n_bytes += len(chunk)
        request.scope[BODY_BYTES].hold(request.scope, len(chunk))
        if n_bytes > limits.max_body_bytes:
            raise _too_large(limits)
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large(limits: Limits) -> RequestError:
    return RequestError(TOO_LARGE, f"the body is larger than {limits.max_body_bytes} bytes; send fewer records at once")
