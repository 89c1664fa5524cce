"""Ctrl-C while the program starts and while it runs."""

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

EXIT_CODE = 130
MESSAGE = "anystream: interrupted"

_arrived = False


def exit_at_once() -> None:
    """End the process on SIGINT: nothing has begun. Does nothing where SIGINT is ignored, as in background jobs."""
    _handle(_exit)


def raise_error() -> None:
    """Raise KeyboardInterrupt on SIGINT from now on, and remember that it arrived."""
    _handle(_raise)


def arrived() -> bool:
    """Whether SIGINT arrived: compiled modules that are being imported turn KeyboardInterrupt into ImportError."""
    return _arrived


def _handle(handler: Callable[[int, FrameType | None], NoReturn]) -> None:
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _exit):
        signal.signal(signal.SIGINT, handler)


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, f"{MESSAGE}\n".encode())
    os._exit(EXIT_CODE)


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    global _arrived
    _arrived = True
    raise KeyboardInterrupt
