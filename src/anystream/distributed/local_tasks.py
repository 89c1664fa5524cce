"""Tasks in processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from typing import Any

from anystream.distributed.tasks import LostError
from anystream.progress import hide_bars


class LocalTasks:
    """Tasks in new processes, which share nothing with this one.

    Parameters
    ----------
    n_workers : int
        Number of processes.
    """

    def __init__(self, n_workers: int | None = None) -> None:
        self.n_workers = n_workers or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Start a task; results of other tasks travel through this process."""
        values = [arg.result() if isinstance(arg, Future) else arg for arg in args]
        try:
            return self._open_pool().submit(function, *values)
        except BrokenExecutor:  # a process was killed: its tasks are lost, and others get new processes
            self._pool = None
            return self._open_pool().submit(function, *values)

    def wait(self, handles: Sequence[Future[Any]], seconds: float) -> list[Future[Any]]:
        """Return the tasks that are done."""
        return list(wait(handles, seconds, FIRST_COMPLETED).done)

    def check(self, handle: Future[Any]) -> BaseException | None:
        """Return the error of a task."""
        error = handle.exception()
        if isinstance(error, BrokenExecutor):
            return LostError("the process of a task was killed, perhaps because there was too little memory")
        return error

    def fetch(self, handle: Future[Any]) -> Any:
        """Return the result of a task."""
        return handle.result()

    def close(self) -> None:
        """End all processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _open_pool(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")  # a forked process would inherit the threads of native code
            self._pool = ProcessPoolExecutor(self.n_workers, mp_context=context, initializer=hide_bars)
        return self._pool
