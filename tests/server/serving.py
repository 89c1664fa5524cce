"""A server on a loopback port, in a thread, and a plain client."""

import asyncio
import contextlib
import http.client
import json
import threading
import time
from typing import NamedTuple

from anystream.server.app import Service
from anystream.server.arrival import ArrivalLoop
from anystream.server.model_store import find_models
from anystream.server.run import Server
from anystream.server.settings import ServerSettings

PATIENT_MS = 20_000  # a deadline that a busy machine keeps


class Response(NamedTuple):
    status: int
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)


class Served:
    """A running server."""

    def __init__(self, service, server, loop):
        self.service, self.server, self.loop = service, server, loop
        self.port = int(server.address.rpartition(":")[2])

    def request(self, method, path, body=None, headers=None):
        """Send one request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, dict(headers or {}))
            found = connection.getresponse()
            return Response(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())

    def get(self, path, **headers):
        return self.request("GET", path, headers=headers)

    def post(self, path, value, headers=None):
        """Send JSON, with a deadline that a busy machine keeps."""
        headers = {"Content-Type": "application/json", "Request-Timeout-Ms": str(PATIENT_MS)} | (headers or {})
        body = value if isinstance(value, bytes) else json.dumps(value)
        return self.request("POST", path, body, headers)

    def run(self, coroutine):
        """Run a coroutine in the event loop of the server, and return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)


def wait_until(condition):
    """Wait until a condition holds, for a minute at most."""
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.002)


@contextlib.contextmanager
def serving(*paths, **settings):
    """Serve model files until the block ends; it ends in order."""
    settings = ServerSettings(models=find_models([str(path) for path in paths]), port=0, **settings)
    started, found, errors = threading.Event(), [], []

    async def run():
        service = Service(settings)
        server = Server(service, settings)
        async with service.running():
            await server.run(lambda it: (found.append(Served(service, it, asyncio.get_running_loop())), started.set()))

    def main():
        try:
            with asyncio.Runner(loop_factory=ArrivalLoop) as runner:
                runner.run(run())
        except BaseException as error:
            errors.append(error)
        started.set()

    thread = threading.Thread(target=main)
    thread.start()
    started.wait(120)
    try:
        if errors:
            raise errors[0]
        yield found[0]
    finally:
        if found:
            found[0].server.stop()
        thread.join(120)
        assert not thread.is_alive()
    if errors:
        raise errors[0]
