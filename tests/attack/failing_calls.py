"""Calls that change a file, in a process that was started with ``preloaded("failing_calls.cpp")``.

The calls below one folder are counted from 0; at a chosen number the process is killed, or the call fails.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

NEVER = 2**62


class Fault(IntEnum):
    """What happens at the chosen call; the numbers are those of the library."""

    COUNT = 0
    KILL_BEFORE = 1
    KILL_AFTER = 2
    NO_SPACE = 3
    INPUT_OUTPUT_ERROR = 4
    SHORT_WRITE = 5


@contextmanager
def failing_calls(folder: Path, fault: Fault, first: int, last: int, log: Path | None = None) -> Iterator[None]:
    """Apply a fault to the calls numbered `first` to `last` below a folder; write all calls to `log`.

    A line of the log has the number of the call, its name, and the file relative to the folder.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "failing_calls_arm"):
        raise RuntimeError("the library is not preloaded; start the process with preloaded('failing_calls.cpp')")
    library.failing_calls_arm.argtypes = (ctypes.c_char_p, ctypes.c_long, ctypes.c_long, ctypes.c_int, ctypes.c_int)
    file = -1 if log is None else os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    library.failing_calls_arm(os.fsencode(folder), first, last, fault, file)
    try:
        yield
    finally:
        library.failing_calls_disarm()
        if file >= 0:
            os.close(file)
