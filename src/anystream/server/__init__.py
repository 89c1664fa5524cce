"""HTTP and gRPC server: classifies the records of concurrent requests by their deadlines.

Requests go through one engine of `anystream.runtime` per model, whose scheduler gives every waiting record its steps::

    request -> app (routes) -> protocol or records API -> ModelEngine -> Engine (a thread) -> answers -> response

Needs ``anystream[server]``; the gRPC protocol also needs ``anystream[grpc]``.
"""

try:
    import msgspec  # noqa: F401  here for its error alone, like the others
    import prometheus_client  # noqa: F401
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:  # pragma: no cover  the tests have them
    raise ImportError(
        "the server needs starlette, uvicorn, msgspec and prometheus-client; install anystream[server]"
    ) from error
