"""Standstills of the machine: the host of a virtual one takes cores away now and then, and no program knows."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from types import TracebackType
from typing import Self

_PAUSE_S = 0.005
_NOTED_S = 0.03  # shorter ones are the scheduler of the operating system
_PROGRAM = f"""
import os, threading, time
parent = os.getppid()

def watch(core):
    if core is not None:
        os.sched_setaffinity(0, [core])  # of this thread
    while os.getppid() == parent:
        began = time.monotonic()
        time.sleep({_PAUSE_S})
        ended = time.monotonic()
        if ended - began > {_NOTED_S}:
            os.write(1, f"{{began}} {{ended}}\\n".encode())

cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [None]
for core in cores[1:]:
    threading.Thread(target=watch, args=(core,), daemon=True).start()
watch(cores[0])
"""


class StandstillWatch:
    """Notes when a core stands still, from another process that on each core only sleeps and looks at the clock.

    Use it as a context manager.
    """

    def __init__(self) -> None:
        self._found: list[tuple[float, float]] = []

    def __enter__(self) -> Self:
        command = [sys.executable, "-I", "-S", "-c", _PROGRAM]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._reader = threading.Thread(target=self._read, name="anystream-standstills", daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            began, ended = line.split()
            self._found.append((float(began), float(ended)))

    def longest_since(self, began: float) -> float:
        """Return the seconds of the longest standstill since an instant of `time.monotonic`; 0 if there was none."""
        time.sleep(2 * _PAUSE_S)  # one that has just ended is still to be told
        return max((end - start for start, end in list(self._found) if end > began), default=0.0)
