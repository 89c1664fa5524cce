"""A graceful end when the system or the user asks for one."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from anystream.runtime.engine import Engine


@contextmanager
def stop_on_signals(engine: Engine) -> Iterator[None]:
    """Stop the engine on SIGINT and SIGTERM: what was taken is answered, flushed and acknowledged.

    A second SIGINT ends it at once. Only the main thread may use this.
    """
    before: dict[int, Any] = {}

    def stop(number: int, frame: FrameType | None) -> None:
        engine.stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for stopped, handler in before.items():
            signal.signal(stopped, handler)
