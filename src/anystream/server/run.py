"""Running a server until a signal ends it."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from anystream.server.app import Service
from anystream.server.connection import LimitedConnection
from anystream.server.settings import ServerSettings

if TYPE_CHECKING:
    from anystream.server.grpc_server import GrpcServer


async def serve(settings: ServerSettings, *, started: Callable[[Server], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM; then answer the requests that were taken, and return.

    Parameters
    ----------
    settings : ServerSettings
        What to serve, and how.
    started : callable, optional
        Called with the server when requests are accepted.
    """
    service = Service(settings)
    server = Server(service, settings)
    async with service.running():
        await server.run(started)


class Server:
    """An HTTP server in the running event loop.

    Parameters
    ----------
    service : Service
        The application, running.
    settings : ServerSettings
        Address and bounds.
    """

    def __init__(self, service: Service, settings: ServerSettings) -> None:
        limits = settings.limits
        self._socket = _bind(settings.host, settings.port)
        config = uvicorn.Config(
            service.app,
            http=LimitedConnection.with_limits(limits),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=max(int(limits.idle_s), 1),
            timeout_graceful_shutdown=int(limits.max_within_s + limits.read_s) + 1,
        )
        self._uvicorn = _Uvicorn(config, service.end_streams)
        self._grpc: GrpcServer | None = None
        if settings.grpc_port is not None:
            from anystream.server.grpc_server import GrpcServer  # needs an extra of its own

            self._grpc = GrpcServer(service.store, settings)

    @property
    def address(self) -> str:
        """Where clients connect to."""
        host, port = self._socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    @property
    def grpc_port(self) -> int | None:
        """Port for gRPC, once it listens; None without gRPC."""
        return None if self._grpc is None else self._grpc.port

    async def run(self, started: Callable[[Server], None] | None = None) -> None:
        """Serve until a signal or `stop`; return when open requests are answered."""
        if self._grpc is not None:
            await self._grpc.start()
        try:
            await self._run_http(started)
        finally:
            if self._grpc is not None:
                await self._grpc.stop()

    async def _run_http(self, started: Callable[[Server], None] | None) -> None:
        serving = asyncio.ensure_future(self._uvicorn.serve([self._socket]))
        while not self._uvicorn.started and not serving.done():
            await asyncio.sleep(0.005)
        if started is not None and not serving.done():
            started(self)
        await serving

    def stop(self) -> None:
        """Accept no more connections, and let `run` end. Any thread may call this."""
        self._uvicorn.should_exit = True


class _Uvicorn(uvicorn.Server):
    """The server of uvicorn, without repeating signals at its end: the models are still to be closed then."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._end_streams()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sets TCP_NODELAY; otherwise the body of each response would wait until the client
    # acknowledges its headers, 40 ms.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    return found
