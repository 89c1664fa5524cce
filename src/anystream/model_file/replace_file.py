"""Atomic replacement of files."""

import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

LEFT_OVER = ".anystream-*.tmp"
"""Glob pattern of the temporary files that a killed process leaves behind."""


def replace_file(target: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Write a temporary file, sync it to disk and rename it to the target; on failure the old file stays."""
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
    if hasattr(os, "O_DIRECTORY"):  # where folders can be opened: sync the new name as well
        with suppress(OSError):
            folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
