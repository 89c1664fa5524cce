"""Atomic replacement of files."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import BufferedWriter
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows: temporary files of a killed process stay there
    fcntl = None  # type: ignore[assignment]  # its absence is tested for

LEFT_OVER = ".anystream-*.tmp"
"""Glob pattern of temporary files. A process holds a lock on its own while it lives; the next write removes others."""


def replace_file(
    target: Path, chunks: Iterable[bytes | memoryview], *, check: Callable[[Path], None] | None = None
) -> None:
    """Write a temporary file, sync it to disk and rename it to the target; on failure the old file stays.

    Parameters
    ----------
    target : path
        The file. If it exists, its owner and its mode are those of the temporary file from the start.
    chunks : iterable of bytes
        New content.
    check : callable, optional
        Called with the path of the temporary file when all of it is on disk; if it raises, the old file stays.
    """
    names: list[Path] = []  # of temporary files, added before a file is created: an interrupt leaves none behind
    try:
        _remove_left_overs(target.parent)
        try:
            temporary, file = _create_temporary(target, names)
            with file:
                for chunk in chunks:
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
                if check is not None:
                    check(temporary)
                os.replace(temporary, target)
        except BaseException:
            for name in names:
                name.unlink(missing_ok=True)
            raise
    except OSError as error:  # has no name, or that of the temporary file
        raise OSError(error.errno, error.strerror, str(target)) from error
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk, where the system allows it, so that a new file survives a power failure."""
    if hasattr(os, "O_DIRECTORY"):
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def create_folder(folder: Path) -> None:
    """Create a folder and those above it, as far as they are missing, and sync their names to disk."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in reversed(missing):
        sync_folder(path.parent)


def _create_temporary(target: Path, names: list[Path]) -> tuple[Path, BufferedWriter]:
    """Return a new file beside the target, locked, which nobody can read who cannot read the target.

    Its name is appended to `names` first.
    """
    old = target.stat() if target.exists() else None
    while True:
        path = target.with_name(LEFT_OVER.replace("*", secrets.token_hex(8)))
        names.append(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(path, flags, 0o666 if old is None else 0o600), "wb")
        try:
            if old is not None:
                _copy_access(old, file.fileno())
            if fcntl is not None:
                with suppress(OSError):  # a file system without locks; `_remove_left_overs` gets none either
                    fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_nlink:  # otherwise another process removed it before it was locked
                return path, file
        except BaseException:
            file.close()
            raise
        file.close()


def _copy_access(old: os.stat_result, descriptor: int) -> None:
    """Give a new file the owner, group and mode of an old one; without the right to, its group gets no access."""
    mode = stat.S_IMODE(old.st_mode)
    new = os.fstat(descriptor)
    if hasattr(os, "fchown") and (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except PermissionError:
            mode &= ~stat.S_IRWXG if old.st_gid != new.st_gid else ~0
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)


def _remove_left_overs(folder: Path) -> None:
    """Remove temporary files whose process is gone."""
    if fcntl is None:
        return
    for path in folder.glob(LEFT_OVER):
        with suppress(OSError):  # such as BlockingIOError: its process still writes
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if stat.S_ISREG(os.fstat(descriptor).st_mode):
                    path.unlink()
            finally:
                os.close(descriptor)
