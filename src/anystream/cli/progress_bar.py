"""Progress bar for work in Python, shown in a terminal only."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from anystream.progress import BAR_DELAY_S


class Progressing(Protocol):
    """Work whose progress can be watched: the share that is done, or None if that cannot be known."""

    @property
    def share_read(self) -> float | None:
        """Share that is done."""


@contextmanager
def show_progress(work: Progressing, description: str = "reading") -> Iterator[None]:
    """Show a progress bar on standard error during the work, if that takes longer than a second."""
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(work, ended, description), name="anystream: progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _watch(work: Progressing, ended: threading.Event, description: str) -> None:
    if ended.wait(BAR_DELAY_S):
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from anystream.cli.output import console

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None if work.share_read is None else 1.0)
        while not ended.wait(0.1):
            bar.update(task, completed=work.share_read or 0.0)
