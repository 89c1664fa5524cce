"""Bursty traffic for the server of the demonstration: its load can be changed while it runs."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from anystream.demo.loads import BURST_FACTOR, BURST_SHARE, SLOT_S
from anystream.server.errors import RefusedError
from anystream.server.json_bodies import decode_json, json_response
from anystream.server.model_engine import ModelEngine

MIN_LOAD, MAX_LOAD = 0.25, 10.0
_REQUEST_S = 0.005  # a request carries the records of five milliseconds
_CLICK_S, _CLICK_FACTOR = 3.0, 8.0  # a burst that was asked for: so many seconds, so many times the load


class _LoadBody(msgspec.Struct, forbid_unknown_fields=True):
    load: float


class DemoTraffic:
    """Records that arrive at random, in bursts, as requests to an engine.

    Parameters
    ----------
    features : array of shape (n_records, n_features)
        Records to draw from.
    labels : array of shape (n_records,)
        Their labels, by which the answers are judged.
    capacity : float
        Records per second at load 1.
    within_s : float
        Seconds from the arrival of a record to its deadline.
    seed : int
        Seed of the arrivals.
    """

    def __init__(
        self, features: NDArray[np.float64], labels: NDArray[Any], *, capacity: float, within_s: float, seed: int
    ) -> None:
        self._features = features
        self._labels = labels.tolist()
        self._capacity = capacity
        self._within_s = within_s
        self._rng = np.random.default_rng(seed)
        self._burst_until = 0.0
        self._decoder = msgspec.json.Decoder(_LoadBody)
        self.load = 1.0

    def routes(self) -> list[Route]:
        """Return the routes that change the load."""
        return [
            Route("/v1/demo/load", self._set_load, methods=["POST"]),
            Route("/v1/demo/burst", self._burst, methods=["POST"]),
        ]

    async def run(self, engine: ModelEngine) -> None:
        """Send requests until the task is cancelled; a request that is refused is counted by the engine."""
        requests: set[asyncio.Task[None]] = set()
        slot_ends, weight, sent_until = 0.0, 1.0, time.monotonic()
        while True:
            await asyncio.sleep(_REQUEST_S)
            now = time.monotonic()
            if now >= slot_ends:
                slot_ends = now + SLOT_S
                weight = self._draw_weight()
            burst = _CLICK_FACTOR if now < self._burst_until else 1.0
            elapsed_s = min(now - sent_until, self._within_s)  # after a pause, do not catch up
            count = self._rng.poisson(self.load * self._capacity * weight * burst * elapsed_s)
            sent_until = now
            if count:
                rows = self._rng.integers(len(self._features), size=count)
                task = asyncio.create_task(self._send(engine, rows, now))
                requests.add(task)
                task.add_done_callback(requests.discard)

    def _draw_weight(self) -> float:
        weight = BURST_FACTOR if self._rng.random() < BURST_SHARE else 1.0
        return weight / (1.0 + BURST_SHARE * (BURST_FACTOR - 1.0))

    async def _send(self, engine: ModelEngine, rows: NDArray[np.int64], arrival: float) -> None:
        labels = [self._labels[row] for row in rows.tolist()]
        try:
            await engine.classify(
                self._features[rows], arrival=arrival, deadline=arrival + self._within_s, label=labels
            )
        except RefusedError:
            return

    async def _set_load(self, request: Request) -> Response:
        body = decode_json(self._decoder, await request.body())
        self.load = min(max(body.load, MIN_LOAD), MAX_LOAD)
        return json_response({"load": self.load})

    async def _burst(self, request: Request) -> Response:
        self._burst_until = time.monotonic() + _CLICK_S
        return json_response({"seconds": _CLICK_S, "factor": _CLICK_FACTOR})
