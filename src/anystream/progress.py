"""Progress bar for native work that takes long, shown in a terminal only."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from anystream._native import Counter, StopToken

T = TypeVar("T")

BAR_DELAY_S = 1.0
"""Seconds of work before the bar appears."""


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
    result: list[T] = []
    error: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work(done, stop))
        except BaseException as raised:  # raised again in the calling thread
            error.append(raised)

    worker = threading.Thread(target=run, name=f"anystream: {description}", daemon=True)
    worker.start()
    try:
        worker.join(BAR_DELAY_S)
        if worker.is_alive() and sys.stderr.isatty():
            _show_bar(worker, done, total, description)
        worker.join()
    except BaseException:
        stop.set()
        worker.join()
        raise
    if error:
        raise error[0]
    return result[0]


def _show_bar(worker: threading.Thread, done: Counter, total: int, description: str) -> None:
    """Update a bar until the worker ends."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total)
        while worker.is_alive():
            worker.join(0.1)
            bar.update(task, completed=done.value)
