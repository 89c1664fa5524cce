"""Classification for one HTTP request, which ends when its client disconnects."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request

from anystream.server.errors import BAD_REQUEST, RequestError
from anystream.server.model_store import ServedModel
from anystream.server.request_stream import Answers

ARRIVAL = "anystream.arrival"
"""Key in the scope of a request: the instant of its arrival, on the clock of `time.monotonic`."""


async def classify_request(
    request: Request,
    model: ServedModel,
    features: NDArray[np.float64],
    timeout_s: float,
    label: list[Any] | None = None,
) -> Answers:
    """Return the answers to the records of a request; if its client disconnects, they leave the queue.

    Parameters
    ----------
    request : Request
        The request; its body must have been read.
    model : ServedModel
        The model.
    features : array of shape (n_records, n_features)
        The records.
    timeout_s : float
        Seconds from arrival to the deadline.
    label : list, optional
        Known labels, to judge the answers.
    """
    arrival: float = request.scope[ARRIVAL]
    model.figures.count("requests")
    watch: asyncio.Task[None] | None = None

    def watch_client(done: asyncio.Future[None]) -> None:
        nonlocal watch
        watch = asyncio.ensure_future(_cancel_on_disconnect(request, done))

    try:
        return await model.engine.classify(
            features, arrival=arrival, deadline=arrival + timeout_s, label=label, on_wait=watch_client
        )
    except asyncio.CancelledError:
        if watch is not None and watch.done() and not watch.cancelled():
            raise RequestError(BAD_REQUEST, "the client closed the connection") from None
        raise
    finally:
        if watch is not None:
            watch.cancel()


async def _cancel_on_disconnect(request: Request, done: asyncio.Future[None]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    done.cancel()
