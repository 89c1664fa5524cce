"""Tasks on local processes or on Ray: what fitting by parts needs of either, retries, and a fixed tree of merges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from anystream._native import Counter, StopToken

_WAIT_S = 0.2  # time after which Ctrl-C is looked for


class LostError(RuntimeError):
    """The process or node that ran a task has ended before the task did."""


class TaskBackend(Protocol):
    """Runs functions elsewhere. A handle stands for a result, which stays where it is until `fetch`."""

    @property
    def n_workers(self) -> int:
        """Number of tasks that run at the same time."""

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Start a task and return its handle; arguments may be handles of tasks that are done."""

    def wait(self, handles: Sequence[Any], seconds: float) -> list[Any]:
        """Return the handles of tasks that are done, after `seconds` at the latest."""

    def check(self, handle: Any) -> BaseException | None:
        """Return the error of a task that is done: its own, or LostError; None if there is a result."""

    def fetch(self, handle: Any) -> Any:
        """Return the result of a task that is done."""

    def close(self) -> None:
        """End what is running, and release processes."""


class Call(NamedTuple):
    """A function and its arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


def run_calls(
    backend: TaskBackend, calls: Sequence[Call], *, retries: int, done: Counter, stop: StopToken
) -> list[Any | BaseException]:
    """Run all calls; return in their order a handle for each, or the error that it ended with.

    A task whose worker is lost, or that raises OSError or MemoryError, is run again up to `retries` times. Other errors
    are those of the data, and would come again.
    """
    found: list[Any | BaseException] = [None] * len(calls)
    running: dict[int, Any] = {}
    attempts = [0] * len(calls)
    waiting = list(range(len(calls)))[::-1]
    while waiting or running:
        while waiting and len(running) < 2 * backend.n_workers:  # the next is there when one ends
            at = waiting.pop()
            attempts[at] += 1
            running[at] = backend.submit(calls[at].function, *calls[at].args)
        ready = backend.wait(list(running.values()), _WAIT_S)
        if stop.is_set():
            raise KeyboardInterrupt
        for at in [at for at, handle in running.items() if any(handle is other for other in ready)]:
            handle = running.pop(at)
            error = backend.check(handle)
            if isinstance(error, LostError | OSError | MemoryError) and attempts[at] <= retries:
                waiting.append(at)
                continue
            found[at] = handle if error is None else error
            done.add()
    return found


def count_merges(n_models: int, fan_in: int) -> int:
    """Return the number of merges of the tree."""
    n = 0
    while n_models > 1:
        groups = _split(n_models, fan_in)
        n += sum(1 for first, last in groups if last - first > 1)
        n_models = len(groups)
    return n


def merge_in_tree(
    merge: Callable[..., Any],
    backend: TaskBackend,
    models: Sequence[Any],
    *,
    fan_in: int,
    retries: int,
    done: Counter,
    stop: StopToken,
) -> Any:
    """Return the handle of one model; neighbours are merged, whatever the order in which tasks end.

    Parameters
    ----------
    merge : callable
        Returns one model of several.
    backend : TaskBackend
        Where to merge.
    models : sequence of handles
        The models, in the order of their parts.
    fan_in : int
        Maximum number of models that one task merges.
    retries, done, stop
        As of `run_calls`.
    """
    level = list(models)
    while len(level) > 1:
        groups = [level[first:last] for first, last in _split(len(level), fan_in)]
        merged = run_calls(
            backend,
            [Call(merge, tuple(group)) for group in groups if len(group) > 1],
            retries=retries,
            done=done,
            stop=stop,
        )
        for error in merged:
            if isinstance(error, BaseException):
                raise error
        results = iter(merged)
        level = [next(results) if len(group) > 1 else group[0] for group in groups]
    return level[0]


def _split(n: int, fan_in: int) -> list[tuple[int, int]]:
    """Return the first and last place of each group: as few groups as possible, of nearly equal sizes."""
    n_groups = -(-n // fan_in)
    cuts = [n * group // n_groups for group in range(n_groups + 1)]
    return list(pairwise(cuts))
