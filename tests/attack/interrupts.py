"""Ctrl-C at random moments: KeyboardInterrupt or success; models change fully or not at all."""

import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Self

from attack.cases import Attack
from attack.model_actions import DisturbedActions

INTERRUPTS = 10  # one after the other, for one model and one action


def make(folder: Path) -> Attack:
    return Interrupts(folder)


class Interrupt:
    """Block of code that a signal interrupts.

    Parameters
    ----------
    delay_s : float
        Seconds from the start of the block to the signal.
    """

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self.raised: BaseException | None = None
        self._active = False

    def __enter__(self) -> Self:
        signal.signal(signal.SIGALRM, self._interrupt)
        self._active = True
        signal.setitimer(signal.ITIMER_REAL, max(self.delay_s, 1e-6))
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        self._active = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        if isinstance(error, KeyboardInterrupt):
            self.raised = error.with_traceback(None)
            return True
        return False

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._active:
            raise KeyboardInterrupt

    def __repr__(self) -> str:
        return f"interrupted after {self.delay_s * 1e6:.0f} us, {self.raised!r}"


class Interrupts(DisturbedActions):
    """One model and one action, interrupted at several moments."""

    def disturbances(self, act: Callable[[], None], dice: random.Random) -> Iterator[Interrupt]:
        started = time.perf_counter()
        act()
        duration_s = time.perf_counter() - started
        for _ in range(INTERRUPTS):
            yield Interrupt(dice.uniform(0.0, 1.05) * duration_s)
