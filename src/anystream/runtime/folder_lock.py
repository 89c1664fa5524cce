"""Lock of a folder that one process at a time may use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from anystream.model_file.replace_file import create_folder

try:
    import fcntl
except ImportError:  # pragma: no cover  where files cannot be locked, nothing is
    fcntl: Any = None  # type: ignore[no-redef]


class FolderLock:
    """An exclusive lock on the file ``lock`` in a folder; it ends with the process that holds it, however that ends.

    Parameters
    ----------
    folder : Path
        The folder; `acquire` creates it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "lock"
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Lock the folder, unless this object holds the lock already; BlockingIOError if another one does."""
        if self._descriptor is not None:
            return
        create_folder(self._path.parent)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:  # has no name
            os.close(descriptor)
            raise OSError(error.errno, error.strerror, str(self._path)) from error
        self._descriptor = descriptor

    def release(self) -> None:
        """Unlock the folder, if this object holds the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def read_owner(self) -> str:
        """Return the number of the process that locked the folder last, as text."""
        return self._path.read_text(encoding="utf-8", errors="replace").strip()

    def __del__(self) -> None:
        self.release()
