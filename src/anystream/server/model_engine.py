"""One engine per model: concurrent requests share its native batches, and each waits for its own answers."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.contracts import AnsweredRecords
from anystream.runtime.engine import Engine, Turn
from anystream.runtime.learner import BackgroundLearner, FrozenModel
from anystream.runtime.queue import RecordQueue
from anystream.runtime.schedulers import DeadlineShare
from anystream.server.backlog import Backlog
from anystream.server.errors import BAD_REQUEST, RefusedError, RequestError
from anystream.server.figures import ModelFigures
from anystream.server.limits import Limits
from anystream.server.request_stream import (
    Answers,
    PendingRequest,
    RequestDeadLetters,
    RequestSink,
    RequestSource,
)

log = logging.getLogger("anystream.server")


class _LatestSnapshot(FrozenModel):
    """The snapshot that a learner published last; the learner itself learns beside the engine."""

    def __init__(self, learner: BackgroundLearner) -> None:
        self._learner = learner

    @property
    def model(self) -> Any:
        """The snapshot for the next batch."""
        return self._learner.model


class ModelEngine:
    """Classifies the records of requests in a thread of its own.

    All methods are called by the thread of the event loop.

    Parameters
    ----------
    model : anytime classifier or BackgroundLearner
        The model. Of a learner, each batch is classified by the snapshot that it published last.
    limits : Limits
        Bounds on what waits.
    figures : ModelFigures
        Where requests and answers are counted.
    max_steps : int, optional
        Maximum steps per record; by default the model's own budget.

    Notes
    -----
    A request is refused only if its records could not even have answers at budget 0 in time, by the measured cost of a
    call and a record and the records that are due before; or if `Limits.max_waiting` records wait. If nothing waits, no
    request is refused, so that the costs are measured again.
    """

    def __init__(
        self,
        model: Any,
        *,
        limits: Limits,
        figures: ModelFigures,
        max_steps: int | None = None,
    ) -> None:
        learner = _LatestSnapshot(model) if isinstance(model, BackgroundLearner) else FrozenModel(model)
        self._loop = asyncio.get_running_loop()
        self._limits = limits
        self._figures = figures
        self._pending: dict[int, PendingRequest] = {}
        self._finished: deque[PendingRequest] = deque()  # by the engine's thread, for the event loop
        self._wakes_loop = False  # whether the event loop was woken for them
        self._backlog = Backlog()
        self._source = RequestSource()
        self._next_number = 1
        self._counted: dict[str, int] = {}  # what the figures have of the engine's summary
        self._n_features: int = learner.model.n_features_in_
        self._engine = Engine(
            learner,
            self._source,
            RequestSink(self._pending, self._finish_batch),
            scheduler=DeadlineShare(max_steps=learner.model.budget if max_steps is None else max_steps),
            queue=RecordQueue(limits.max_waiting),
            dead_letters=RequestDeadLetters(self._pending, self._finish),
            observer=self._observe,
        )
        self._error: BaseException | None = None
        self._closing = False
        self._ready = threading.Event()
        self._stopped = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="anystream: engine", daemon=True)

    async def start(self) -> None:
        """Start the thread; return when it has measured the cost of a call, a record and a step."""
        self._thread.start()
        await asyncio.to_thread(self._ready.wait)
        if self._error is not None:
            raise self._error

    @property
    def is_alive(self) -> bool:
        """Whether requests can be classified."""
        return self._error is None and not self._closing

    @property
    def waiting(self) -> int:
        """Number of records that wait or are being classified."""
        return self._backlog.records

    async def classify(
        self,
        features: NDArray[np.float64],
        *,
        arrival: float,
        deadline: float,
        label: list[Any] | None = None,
        on_wait: Callable[[asyncio.Future[None]], None] | None = None,
    ) -> Answers:
        """Return the answers to records, by their deadline if that is possible at all.

        If the task is cancelled, the records leave the queue.

        Parameters
        ----------
        features : array of shape (n_records, n_features)
            The records.
        arrival, deadline : float
            Instants on the clock of `time.monotonic`.
        label : list, optional
            Known labels, to judge the answers; None where unknown.
        on_wait : callable, optional
            Called with the future that is waited for; to cancel it withdraws the records.

        Raises
        ------
        RefusedError
            At once, when the answers could not be in time.
        RequestError
            When a record cannot be classified.
        """
        self._admit(len(features), features.shape[1], deadline)
        request = PendingRequest(self._next_number, features, arrival, deadline, label, self._loop.create_future())
        self._next_number += 1
        self._pending[request.number] = request
        self._backlog.add(request.number, len(features), deadline=deadline)
        self._figures.count("records", len(features))
        self._source.submit(request)
        try:
            if on_wait is not None:
                on_wait(request.done)
            await request.done
        except asyncio.CancelledError:
            self._withdraw(request)
            raise
        finally:
            self._backlog.remove(request.number, deadline=deadline)
        if request.error is not None:
            row, reason = request.error
            self._figures.count("rejected", len(features))
            raise RequestError(BAD_REQUEST, f"record {row}: {reason}")
        return request.answers()

    async def close(self) -> None:
        """Take no more requests; return when those that were taken are answered and the thread has ended."""
        self._closing = True
        self._source.close()
        await self._stopped.wait()

    # -- the event loop ------------------------------------------------------------------------------------------------

    def _admit(self, n_records: int, n_features: int, deadline: float) -> None:
        """Raise if the records cannot be classified, or not in time."""
        if not self.is_alive:
            reason = "closing" if self._error is None else "failed"
            self._figures.count_refusal(reason)
            raise RefusedError(reason, f"the model is {reason}; try another server, or again later")
        if n_features != self._n_features:
            raise RequestError(
                BAD_REQUEST, f"the records have {n_features} features, the model has {self._n_features}; send the same"
            )
        waiting = self._backlog.records
        if waiting == 0:
            return
        if waiting + n_records > self._limits.max_waiting:
            raise self._refuse("queue_full", f"{waiting} records wait, the maximum is {self._limits.max_waiting}")
        now, cost = time.monotonic(), self._engine.cost
        n_before = waiting
        if now + cost.estimate_s(n_before + n_records, 0) > deadline:  # perhaps not all of them are due before
            if now > deadline:
                raise self._refuse("too_late", "the deadline had passed when the request was read")
            n_before = self._backlog.records_before(deadline, now=now)
            if n_before and now + cost.estimate_s(n_before + n_records, 0) > deadline:
                raise self._refuse(
                    "too_late", f"{n_before} records are due before; there is no time even for the quickest answer"
                )

    def _refuse(self, reason: str, message: str) -> RefusedError:
        self._figures.count_refusal(reason)
        retry_after_s = self._engine.cost.estimate_s(self._backlog.records, 0)
        return RefusedError(reason, f"{message}; try again later", retry_after_s)

    def _withdraw(self, request: PendingRequest) -> None:
        request.withdrawn = True
        if self._pending.pop(request.number, None) is not None:
            first = request.first_offset
            self._engine.withdraw(np.arange(first, first + len(request.features)))

    # -- the engine's thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._engine.run()
        except BaseException as error:
            log.exception("an engine failed")
            self._error = error
        self._ready.set()
        self._call_in_loop(self._end)

    def _observe(self, turn: Turn) -> None:
        if not self._ready.is_set():
            self._ready.set()
        queue = self._engine.queue
        oldest = float(queue.arrivals().min()) if len(queue) else turn.now
        self._figures.observe_turn(turn, self._counted, turn.now - oldest)

    def _finish_batch(self, answers: AnsweredRecords, finished: list[PendingRequest]) -> None:
        now = self._engine.clock.now()
        self._figures.observe_answers(answers, [request.deadline - now for request in finished])
        self._finish(finished)

    def _finish(self, finished: list[PendingRequest]) -> None:
        if finished:
            self._finished.extend(finished)
            if not self._wakes_loop:  # else it has not got to those before yet
                self._wakes_loop = True
                self._call_in_loop(self._set_done)

    def _call_in_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(function, *arguments)

    # -- back in the event loop ----------------------------------------------------------------------------------------

    def _set_done(self) -> None:
        self._wakes_loop = False  # before the last request is taken: the engine wakes the loop for later ones
        while self._finished:
            request = self._finished.popleft()
            if not request.done.done():
                request.done.set_result(None)

    def _end(self) -> None:
        """Fail the requests that have no answer; there are some only after an error."""
        for request in list(self._pending.values()):
            if not request.done.done():
                request.done.set_exception(
                    RefusedError("failed", "the model failed; try another server, or again later")
                )
        self._pending.clear()
        self._stopped.set()
