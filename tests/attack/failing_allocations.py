"""Failing allocations of the native core, one after the other.

In a process that was started with `preloaded("failing_allocations.cpp")`::

    for case in each_failing_allocation(max_cases=100):
        model = make_model()
        with case:  # MemoryError is allowed to leave the block
            model.partial_fit(X, y)
        check(model, learned=case.raised is None)

A test runs such a module by `run_with_failing_allocations`.
"""

import ctypes
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from attack.preload import preloaded

WATCHED = (b"anystream/_native", b"libstdc++")
NEVER = 2**62


class FailingAllocation:
    """Block of code in which one allocation fails, or all from one on.

    Parameters
    ----------
    first, last : int
        Numbers of the allocations that fail, counted from 0 at the start of the block.

    Attributes
    ----------
    failed : int
        Number of allocations that failed in the block.
    made : int
        Number of allocations in the block.
    raised : MemoryError or None
        What left the block; any other error passes through.
    """

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last
        self.failed = self.made = 0
        self.raised: MemoryError | None = None

    def __enter__(self) -> Self:
        _library().failing_allocations_arm(self.first, self.last)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.made = _library().failing_allocations_disarm()
        self.failed = _library().failing_allocations_failed()
        if isinstance(error, MemoryError) and self.failed:
            self.raised = error.with_traceback(None)
            return True
        return False

    def __repr__(self) -> str:
        which = f"allocation {self.first}" if self.first == self.last else f"allocations {self.first} to {self.last}"
        return f"{which} of {self.made}, {self.failed} failed, {self.raised!r}"


def each_failing_allocation(*, max_cases: int = 10**9, seed: int = 0) -> Iterator[FailingAllocation]:
    """Yield a block in which nothing fails, which counts the allocations; then one for every allocation.

    Parameters
    ----------
    max_cases : int
        Maximum number of allocations that fail; drawn at random if the block makes more.
    seed : int, default=0
        Seed of the drawing, and of whether all later allocations of a block fail as well.
    """
    undisturbed = FailingAllocation(NEVER, NEVER)
    yield undisturbed
    dice = random.Random(seed)
    for number in sorted(dice.sample(range(undisturbed.made), min(max_cases, undisturbed.made))):
        yield FailingAllocation(number, dice.choice((number, NEVER)))


def run_with_failing_allocations(script: str | Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a Python file in a process whose allocations can be made to fail."""
    return subprocess.run(
        [sys.executable, "-P", str(script), *arguments],
        env=preloaded("failing_allocations.cpp"),
        capture_output=True,
        text=True,
        check=False,
    )


def _library() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        import anystream._native  # noqa: F401  # the module must be in memory before it can be watched

        found = ctypes.CDLL(None)
        if not hasattr(found, "failing_allocations_arm"):
            raise RuntimeError("the library is not preloaded; start the process with run_with_failing_allocations")
        found.failing_allocations_arm.argtypes = (ctypes.c_long, ctypes.c_long)
        found.failing_allocations_disarm.restype = found.failing_allocations_failed.restype = ctypes.c_long
        before = 0
        for name in WATCHED:
            ranges = found.failing_allocations_watch(name)
            assert ranges > before, f"{name!r} is not loaded"
            before = ranges
        _loaded = found
    return _loaded


_loaded: ctypes.CDLL | None = None
