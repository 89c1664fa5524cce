"""Checks of paths before the work: no output is an input or another output, and each can be written."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path


def check_distinct_files(inputs: Mapping[str, str | None], outputs: Mapping[str, str | None]) -> None:
    """Raise ValueError if an output is an input or another output.

    Parameters
    ----------
    inputs, outputs : mapping of str to path or None
        Paths by the names that they have in the error message; None and ``"-"`` are no files.
    """
    used: dict[Path, str] = {}
    for name, path in [*inputs.items(), *outputs.items()]:
        if path is None or path == "-":
            continue
        resolved = Path(path).resolve()
        if name in outputs and resolved in used:
            raise ValueError(f"{name} is {path}, which is {used[resolved]}; write to another file")
        if resolved.is_file() or not resolved.exists():  # a pipe or /dev/null can be used several times
            used[resolved] = name


def check_writable(outputs: Mapping[str, str | None]) -> None:
    """Raise OSError if the folder of an output does not exist or cannot be written to.

    Parameters
    ----------
    outputs : mapping of str to path or None
        See `check_distinct_files`.
    """
    for path in outputs.values():
        if path is None or path == "-":
            continue
        folder = Path(path).resolve().parent
        if not folder.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder; make it, or write elsewhere", str(folder))
        if Path(path).is_dir():
            raise IsADirectoryError(errno.EISDIR, "this is a folder; name a file in it", path)
        target = Path(path) if Path(path).exists() else folder
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "this may not be written to; write elsewhere", str(target))
