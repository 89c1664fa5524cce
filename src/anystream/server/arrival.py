"""When requests arrived, although the event loop reads them only when it gets to them."""

from __future__ import annotations

import asyncio
import selectors
import time


class ArrivalSelector(selectors.DefaultSelector):
    """Selector that knows since when the events of its last call may have been there.

    Attributes
    ----------
    ready_since : float
        Instant on the clock of `time.monotonic`. Events that the call had to wait for came at its end; others came at
        any moment after the call before, and the earliest counts.
    """

    def __init__(self) -> None:
        super().__init__()
        self._returned = self.ready_since = time.monotonic()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready, as the selector of the standard library does."""
        events = super().select(0)
        self.ready_since = self._returned
        self._returned = time.monotonic()
        if not events and (timeout is None or timeout > 0):
            events = super().select(timeout)
            self.ready_since = self._returned = time.monotonic()
        return events


class ArrivalLoop(asyncio.SelectorEventLoop):
    """Event loop for a server that counts deadlines from the arrival of a request at the machine.

    A loop that is busy for 30 ms reads a request up to 30 ms after it came; deadlines that were counted from the
    reading would be missed without notice.
    """

    def __init__(self) -> None:
        self._arrivals = ArrivalSelector()
        super().__init__(self._arrivals)

    @property
    def ready_since(self) -> float:
        """Earliest instant at which the events that are being handled may have come."""
        return self._arrivals.ready_since


def arrival_now() -> float:
    """Return when the data that the running event loop is reading may have arrived; now, in any other kind of loop."""
    loop = asyncio.get_running_loop()
    return loop.ready_since if isinstance(loop, ArrivalLoop) else time.monotonic()
