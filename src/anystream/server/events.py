"""Live figures as server-sent events: one snapshot for all clients, eight times a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from anystream.server.errors import RefusedError
from anystream.server.limits import Limits
from anystream.server.model_store import ModelStore

INTERVAL_S = 0.125
_MAX_CLIENTS = 64


class Events:
    """Route of the events.

    Each event is a JSON object: ``time`` in seconds since 1970, ``uptime_s``, the default ``deadline_s``, the ``load``
    of a demonstration (null if it is none), and ``models`` by name, each with the ``version`` that is served (null if
    none is), ``waiting``, and the ``counts``, ``refused``, ``present`` values and ``histograms`` of
    `anystream.server.figures.ModelFigures`. Counts are since the start: rates are differences of two events.

    Parameters
    ----------
    store : ModelStore
        The models.
    limits : Limits
        Bounds on requests, with their default deadline.
    load : callable
        Returns the load of a demonstration, None where there is none.
    """

    def __init__(self, store: ModelStore, limits: Limits, load: Callable[[], float | None]) -> None:
        self._store = store
        self._limits = limits
        self._load = load
        self._started = time.monotonic()
        self._closing = asyncio.Event()
        self._clients = 0
        self._latest = b""
        self._latest_at = 0.0

    def routes(self) -> list[Route]:
        """Return the route."""
        return [Route("/v1/events", self._stream)]

    def close(self) -> None:
        """End all streams."""
        self._closing.set()

    def snapshot(self) -> dict[str, Any]:
        """Return the content of an event."""
        served = {model.loaded.name: model for model in self._store.served()}
        return {
            "time": time.time(),
            "uptime_s": time.monotonic() - self._started,
            "deadline_s": self._limits.within_s,
            "load": self._load(),
            "models": {
                name: {
                    "version": str(served[name].loaded.version) if name in served else None,
                    "waiting": served[name].engine.waiting if name in served else 0,
                }
                | figures.snapshot()
                for name, figures in self._store.figures().items()
            },
        }

    async def _stream(self, request: Request) -> StreamingResponse:
        if self._clients >= _MAX_CLIENTS:
            raise RefusedError("events_full", f"{_MAX_CLIENTS} clients watch already; try again later")
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(self._events(), media_type="text/event-stream", headers=headers)

    async def _events(self) -> AsyncIterator[bytes]:
        self._clients += 1
        try:
            while not self._closing.is_set():
                yield self._encode()
                try:
                    await asyncio.wait_for(self._closing.wait(), INTERVAL_S)
                except TimeoutError:
                    continue
        finally:
            self._clients -= 1

    def _encode(self) -> bytes:
        """Return the present event; clients that ask at about the same time share it."""
        now = time.monotonic()
        if now - self._latest_at >= 0.8 * INTERVAL_S or not self._latest:
            self._latest = b"data: " + msgspec.json.encode(self.snapshot()) + b"\n\n"
            self._latest_at = now
        return self._latest
