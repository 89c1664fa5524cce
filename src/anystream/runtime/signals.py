"""Graceful end of a run on SIGINT and SIGTERM."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol


class Stoppable(Protocol):
    """An engine, or what runs engines."""

    def stop(self) -> None:
        """End early, and keep what is done."""


@contextmanager
def stop_on_signals(engine: Stoppable) -> Iterator[list[int]]:
    """Stop the engine on SIGINT and SIGTERM: the records that were taken are classified, flushed and acknowledged.

    A second SIGINT ends the program at once. Only the main thread may use this. The context is a list that receives the
    numbers of the signals.
    """
    previous: dict[int, Any] = {}
    received: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        engine.stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        previous[number] = signal.signal(number, stop)
    try:
        yield received
    finally:
        for changed, handler in previous.items():
            signal.signal(changed, handler)
