"""The application: routes of all protocols, errors as JSON, and the life of the models."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anystream.server.auth import OPEN_PATHS, require_token
from anystream.server.changes_api import ChangesApi
from anystream.server.connection import ARRIVAL
from anystream.server.dashboard import Dashboard
from anystream.server.errors import HEADERS_TOO_LARGE, RequestError
from anystream.server.events import Events
from anystream.server.json_bodies import error_response, json_response
from anystream.server.limits import BODY_BYTES, BodyBytes
from anystream.server.logs import ACCESS, log_request
from anystream.server.metrics import Metrics
from anystream.server.model_store import ModelStore
from anystream.server.open_inference import INFER, MODELS, OpenInference
from anystream.server.openapi import openapi_routes
from anystream.server.records_api import CLASSIFY, RecordsApi
from anystream.server.settings import ServerSettings
from anystream.server.watching import FileWatch

_TICK_S = 1.0

Endpoint = Callable[[Request], Awaitable[Response]]


class Service:
    """The models of a server and the ASGI application around them.

    Parameters
    ----------
    settings : ServerSettings
        What to serve, and how.
    routes : sequence of Route
        Further routes, such as those of a demonstration.
    load : callable
        Returns the load of a demonstration, None where there is none; the dashboard shows it.

    Attributes
    ----------
    store : ModelStore
        The models.
    app : callable
        The ASGI application.
    """

    def __init__(
        self,
        settings: ServerSettings,
        *,
        routes: Sequence[Route] = (),
        load: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._settings = settings
        limits = settings.limits
        self.store = ModelStore(
            limits, folders=settings.folders, max_steps=settings.max_steps, learning=settings.learning
        )
        metrics = Metrics(self.store)
        self.events = Events(self.store, limits, load)
        inference, records = OpenInference(self.store, limits), RecordsApi(self.store, limits)
        all_routes = [
            *inference.routes(),
            *records.routes(),
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
            *ChangesApi(self.store, settings).routes(),
            *metrics.routes(),
            *self.events.routes(),
            *openapi_routes(changes=settings.allows_changes),
            *Dashboard(self.store, limits).routes(),
            *routes,
        ]
        starlette = Starlette(
            routes=all_routes,
            exception_handlers={
                RequestError: _on_request_error,
                HTTPException: _on_http_error,
                Exception: _on_error,
            },
        )
        starlette.router.redirect_slashes = False
        self.app: ASGIApp = _Gate(starlette, inference.infer, records.classify, settings, metrics)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Load the models; at the end, answer the requests that were taken."""
        try:
            for name, path in self._settings.models.items():
                await self.store.load(name, path)
            ticking = asyncio.ensure_future(self._tick())
            try:
                yield
            finally:
                ticking.cancel()
                with suppress(asyncio.CancelledError):
                    await ticking
        finally:
            await self.store.close()

    def end_streams(self) -> None:
        """End the responses that would never end by themselves."""
        self.events.close()

    async def _tick(self) -> None:
        """Save checkpoints and look at files, once a second."""
        watch = FileWatch(self.store, self._settings.watched) if self._settings.watched else None
        while True:
            await asyncio.sleep(_TICK_S)
            for model in self.store.served():
                if model.learning is not None:
                    await asyncio.to_thread(model.learning.tick)
            if watch is not None:
                await watch.look()

    async def _health(self, request: Request) -> Response:
        return json_response({"status": "ok"})

    async def _ready(self, request: Request) -> Response:
        ready = self.store.is_ready
        return json_response({"ready": ready, "models": self.store.names}, status=200 if ready else 503)


class _Gate:
    """The outermost layer: checks the token where everything needs it, and logs.

    Parameters
    ----------
    app : callable
        The application of Starlette.
    infer, classify : callable
        Endpoints of it that are called past it.
    settings : ServerSettings
        Token and limits.
    metrics : Metrics
        Where responses are counted.
    """

    def __init__(
        self, app: ASGIApp, infer: Endpoint, classify: Endpoint, settings: ServerSettings, metrics: Metrics
    ) -> None:
        self._app = app
        self._infer = infer
        self._classify = classify
        self._settings = settings
        self._metrics = metrics
        self._body_bytes = BodyBytes(settings.limits.max_total_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        arrival = scope[ARRIVAL]
        scope[BODY_BYTES] = self._body_bytes
        status = 0

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._metrics.responses[status] += 1
            await send(message)

        try:
            self._check(scope)
            if (endpoint := self._find_endpoint(scope)) is None:
                await self._app(scope, receive, note_status)
            else:
                response = await endpoint(Request(scope, receive))
                await response(scope, receive, note_status)
        except RequestError as error:
            await error_response(error)(scope, receive, note_status)
        except Exception as error:
            if status == 0:
                response = await _on_error(Request(scope), error)
                await response(scope, receive, note_status)
            raise  # to uvicorn, which logs it
        finally:
            self._body_bytes.release(scope)
            if ACCESS.isEnabledFor(logging.INFO):
                client = scope["client"][0] if scope.get("client") else "-"
                log_request(scope["method"], scope["path"], status, time.monotonic() - arrival, client)

    def _find_endpoint(self, scope: Scope) -> Endpoint | None:
        """Return what serves a request that comes often; Starlette finds the others, which takes longer."""
        if scope["method"] != "POST":
            return None
        path: str = scope["path"]
        if path.startswith(MODELS) and path.endswith(INFER):
            name = path[len(MODELS) : -len(INFER)]
            if name and "/" not in name:
                scope["path_params"] = {"name": name}
                return self._infer
        return self._classify if path == CLASSIFY else None

    def _check(self, scope: Scope) -> None:
        max_bytes = self._settings.limits.max_header_bytes
        if sum(len(name) + len(value) for name, value in scope["headers"]) > max_bytes:
            raise RequestError(HEADERS_TOO_LARGE, f"the headers are larger than {max_bytes} bytes; send fewer")
        if self._settings.token_for_all and scope["path"] not in OPEN_PATHS:
            require_token(self._settings, Headers(scope=scope))


async def _on_request_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return error_response(error)


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return json_response({"error": error.detail}, status=error.status_code, headers=error.headers)


async def _on_error(request: Request, error: Exception) -> Response:
    """Hide an error of the server from the client; it is raised again, and uvicorn logs it."""
    return json_response({"error": "the server failed; its log tells why"}, status=500)
