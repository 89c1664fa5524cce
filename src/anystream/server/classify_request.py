"""Classification for one HTTP request, which ends when its client disconnects."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request

from anystream.server.connection import ARRIVAL, DISCONNECT
from anystream.server.errors import BAD_REQUEST, RequestError
from anystream.server.model_store import ServedModel
from anystream.server.request_stream import Answers


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
    left = False

    def withdraw_on_disconnect(done: asyncio.Future[None]) -> None:
        def withdraw() -> None:
            nonlocal left
            left = True
            done.cancel()

        request.scope[DISCONNECT].append(withdraw)

    try:
        return await model.engine.classify(
            features, arrival=arrival, deadline=arrival + timeout_s, label=label, on_wait=withdraw_on_disconnect
        )
    except asyncio.CancelledError:
        if left:
            raise RequestError(BAD_REQUEST, "the client closed the connection") from None
        raise
