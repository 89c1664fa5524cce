"""Native work with a progress bar, when it takes long and somebody is looking."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from anystream._native import Counter, StopToken

T = TypeVar("T")

PATIENCE_S = 1.0
"""How long work goes on before a bar appears."""


def run_with_progress(work: Callable[[Counter, StopToken], T], *, total: int, what: str) -> T:
    """Run `work` beside a progress bar on stderr; Ctrl-C stops it.

    Parameters
    ----------
    work : callable
        Native work that releases the GIL, counts what is done in the counter and ends early when the token is set.
    total : int
        The count at which it is done.
    what : str
        What the bar says.
    """
    done, stop = Counter(), StopToken()
    result: list[T] = []
    error: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work(done, stop))
        except BaseException as raised:  # carried to the caller, whatever it is
            error.append(raised)

    worker = threading.Thread(target=run, name=f"anystream: {what}", daemon=True)
    worker.start()
    try:
        worker.join(PATIENCE_S)
        if worker.is_alive() and sys.stderr.isatty():
            _watch(worker, done, total, what)
        worker.join()
    except BaseException:
        stop.set()
        worker.join()
        raise
    if error:
        raise error[0]
    return result[0]


def _watch(worker: threading.Thread, done: Counter, total: int, what: str) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        while worker.is_alive():
            worker.join(0.1)
            bar.update(task, completed=done.value)
