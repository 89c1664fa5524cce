"""Saving of checkpoints in a thread, while records are classified."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from anystream.runtime.checkpoint import CheckpointFolder
from anystream.runtime.run_state import RunState


class SaveResult(NamedTuple):
    """A checkpoint that is on disk, or the reason why it is not.

    Parameters
    ----------
    state : RunState
        The checkpoint.
    error : BaseException or None
        Why it could not be saved.
    """

    state: RunState
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
        self._state: RunState | None = None
        self._thread: threading.Thread | None = None
        self._sync_error: BaseException | None = None
        self._save_error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Whether a checkpoint was started whose result `finish` has not returned yet."""
        return self._thread is not None

    def start(self, state: RunState) -> None:
        """Begin to save a checkpoint; the last one must be finished."""
        assert self._thread is None
        self._state, self._sync_error, self._save_error = state, None, None
        self._thread = threading.Thread(target=self._save, args=(state,), name="anystream: checkpoint", daemon=True)
        self._thread.start()

    def finish(self, *, wait: bool) -> SaveResult | None:
        """Return the result of the checkpoint that was started; None if there is none, or not yet.

        With `wait`, wait for it. An error of `sync` is raised, because answers may be lost.
        """
        if self._thread is None or self._state is None or (self._thread.is_alive() and not wait):
            return None
        self._thread.join()
        result = SaveResult(self._state, self._save_error)
        self._state = self._thread = None
        if self._sync_error is not None:
            raise self._sync_error
        return result

    def close(self) -> None:
        """Wait for the checkpoint that was started, whatever its result, and unlock the folder."""
        if self._thread is not None:
            self._thread.join()
        self._folder.close()

    def _save(self, state: RunState) -> None:
        try:
            self._sync()
        except BaseException as error:  # raised again by `finish`, in the engine's thread
            self._sync_error = error
            return
        try:
            self._folder.save(state)
        except BaseException as error:  # returned by `finish`
            self._save_error = error
