"""Progress bar for native work that takes long, shown in a terminal only."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from anystream._native import Counter, StopToken

T = TypeVar("T")

BAR_DELAY_S = 1.0
"""Seconds of work before the bar appears."""


_shown = True  # whether bars are shown


def hide_bars() -> None:
    """Show no bars in this process: it works for another one, which shows its own."""
    global _shown
    _shown = False


def run_with_progress(work: Callable[[Counter, StopToken], T], *, total: int, description: str) -> T:
    """Run `work` in a thread, with a progress bar on stderr, and return its result; Ctrl-C stops it.

    Parameters
    ----------
    work : callable
        Native work that releases the GIL, counts what is done in the counter and ends early when the token is set.
    total : int
        Value of the counter when the work is done.
    description : str
        Text beside the bar.
    """
    done, stop = Counter(), StopToken()
    ended = threading.Event()  # Thread.join is of no use after Ctrl-C: in Python 3.11 it may then return at once
    result: list[T] = []
    error: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work(done, stop))
        except BaseException as raised:  # raised again in the calling thread
            error.append(raised)
        finally:
            ended.set()

    worker = threading.Thread(target=run, name=f"anystream: {description}", daemon=True)
    worker.start()
    try:
        if not ended.wait(BAR_DELAY_S) and _shown and sys.stderr.isatty():
            _show_bar(ended, done, total, description)
        ended.wait()
    except BaseException:
        stop.set()
        ended.wait()
        raise
    if error:
        raise error[0]
    return result[0]


def run_interruptibly(work: Callable[[], T]) -> T:
    """Run `work` in a thread and return its result; Ctrl-C raises at once and leaves the thread to its end.

    For calls of other libraries that take seconds and cannot be stopped, on arrays that nothing else uses. A process
    that exits waits for such a thread: OpenBLAS never ends if it is shut down during a call.
    """
    ended = threading.Event()
    result: list[T] = []
    error: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as raised:  # raised again in the calling thread
            error.append(raised)
        finally:
            ended.set()

    threading.Thread(target=run, name="anystream: work that cannot be stopped", daemon=True).start()
    try:
        ended.wait()
    except BaseException:
        atexit.register(ended.wait)
        raise
    if error:
        raise error[0]
    return result[0]


def _show_bar(ended: threading.Event, done: Counter, total: int, description: str) -> None:
    """Update a bar until the work has ended."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total)
        while not ended.wait(0.1):
            bar.update(task, completed=done.value)
