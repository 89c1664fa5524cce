"""Putting a file in the place of another: whole, or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

LEFT_OVER = ".anystream-*.tmp"
"""What a process that is killed while it writes leaves behind."""


def replace_file(target: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Write beside the target, wait until the disk has it, and move it there; a failure leaves what was."""
    temporary = target.with_name(LEFT_OVER.replace("*", secrets.token_hex(8)))
    try:
        with open(temporary, "xb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):  # where folders can be opened: let the new name reach the disk as well
        with suppress(OSError):
            folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
