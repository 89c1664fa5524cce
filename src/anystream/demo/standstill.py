"""Standstills of the machine: the host of a virtual one stops it now and then, and no program answers meanwhile."""

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
import os, time
parent = os.getppid()
while os.getppid() == parent:
    began = time.monotonic()
    time.sleep({_PAUSE_S})
    ended = time.monotonic()
    if ended - began > {_NOTED_S}:
        print(began, ended, flush=True)
"""


class StandstillWatch:
    """Notes when the machine stands still, from another process that does nothing but sleep and look at the clock.

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
