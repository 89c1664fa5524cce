"""Saving of checkpoints in a thread, while records are classified."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from anystream.runtime.checkpoint import CheckpointFolder
from anystream.runtime.run_state import RunState


class SaveResult(NamedTuple):
    """What became of a checkpoint.

    Parameters
    ----------
    resume_at : int
        Offset of the source from which a run would continue.
    error : BaseException or None
        Why it could not be saved; None if it is on disk.
    """

    resume_at: int
    error: BaseException | None


class CheckpointWriter:
    """Saves one checkpoint at a time in a thread of its own.

    Parameters
    ----------
    folder : CheckpointFolder
        Where checkpoints are saved.
    sync : callable
        Writes answers and dead letters to disk. A checkpoint is saved after that, because it says that they are there.
    """

    def __init__(self, folder: CheckpointFolder, sync: Callable[[], None]) -> None:
        self._folder = folder
        self._sync = sync
        self._resume_at = 0
        self._thread: threading.Thread | None = None
        self._sync_error: BaseException | None = None
        self._save_error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Whether a checkpoint was started whose result `finish` has not returned yet."""
        return self._thread is not None

    def start(self, make_state: Callable[[], RunState], *, resume_at: int) -> None:
        """Begin to save the checkpoint that `make_state` returns in the thread; the last one must be finished."""
        assert self._thread is None
        self._resume_at, self._sync_error, self._save_error = resume_at, None, None
        self._thread = threading.Thread(
            target=self._save, args=(make_state,), name="anystream: checkpoint", daemon=True
        )
        self._thread.start()

    def finish(self, *, wait: bool) -> SaveResult | None:
        """Return the result of the checkpoint that was started; None if there is none, or not yet.

        With `wait`, wait for it. An error of `sync` is raised, because answers may be lost.
        """
        if self._thread is None or (self._thread.is_alive() and not wait):
            return None
        self._thread.join()
        self._thread = None
        if self._sync_error is not None:
            raise self._sync_error
        return SaveResult(self._resume_at, self._save_error)

    def close(self) -> None:
        """Wait for the checkpoint that was started, whatever its result, and unlock the folder."""
        if self._thread is not None:
            self._thread.join()
        self._folder.close()

    def _save(self, make_state: Callable[[], RunState]) -> None:
        try:
            self._sync()
        except BaseException as error:  # raised again by `finish`, in the engine's thread
            self._sync_error = error
            return
        try:
            self._folder.save(make_state())
        except BaseException as error:  # returned by `finish`
            self._save_error = error
