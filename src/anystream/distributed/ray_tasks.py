"""Tasks on a cluster of Ray."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from anystream.distributed.ray_connection import connect
from anystream.distributed.tasks import LostError
from anystream.progress import hide_bars


class _Handle(NamedTuple):
    """References to the error of a task, which is small, and to its result, which stays on its node."""

    error: Any
    result: Any


class RayTasks:
    """Tasks of Ray; results travel between nodes, not through this process.

    Parameters
    ----------
    on : str
        See `connect`.
    """

    def __init__(self, on: str) -> None:
        self._ray = connect(on)
        self._attempt = self._ray.remote(num_returns=2, max_retries=3)(_attempt)

    @property
    def n_workers(self) -> int:
        """Number of CPUs of the cluster now."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, function: Callable[..., Any], *args: Any) -> _Handle:
        """Start a task; Ray runs it again itself if its node is lost."""
        passed = [arg.result if isinstance(arg, _Handle) else arg for arg in args]
        return _Handle(*self._attempt.remote(function, *passed))

    def wait(self, handles: Sequence[_Handle], seconds: float) -> list[_Handle]:
        """Return the tasks that are done."""
        by_error = {handle.error: handle for handle in handles}
        ready, _ = self._ray.wait(list(by_error), num_returns=1, timeout=seconds, fetch_local=False)
        return [by_error[reference] for reference in ready]

    def check(self, handle: _Handle) -> BaseException | None:
        """Return the error of a task."""
        try:
            error: BaseException | None = self._ray.get(handle.error)
        except self._ray.exceptions.RayError as lost:
            return LostError(f"a task was lost: {str(lost).splitlines()[0]}")
        return error

    def fetch(self, handle: _Handle) -> Any:
        """Return the result of a task."""
        return self._ray.get(handle.result)

    def close(self) -> None:
        """Do nothing: the connection belongs to the program."""


def _attempt(function: Callable[..., Any], *args: Any) -> tuple[BaseException | None, Any]:
    hide_bars()
    try:
        return None, function(*args)
    except Exception as error:  # returned, since it is looked at before the result
        return error, None
