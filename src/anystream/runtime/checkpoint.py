"""Checkpoints: the state of a run on disk, from which another process can continue after any end.

A folder holds the last few checkpoints of one run::

    checkpoint-<n>.safetensors         state of the run at one instant; names its model file
    checkpoint-<n>-model.safetensors   a model, for this checkpoint and those after it in which it has not changed
    lock                               locked while a run uses the folder

The model is written first, if it has changed; then the state, under another name, is renamed in one step, and that
completes the checkpoint; then the files of the oldest checkpoint are removed. A kill at any point leaves the complete
checkpoints. Every byte is covered by a checksum: a damaged checkpoint is recognised, and the one before it used.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from anystream.model_file import ModelFileError
from anystream.model_file.fingerprint import read_fingerprint
from anystream.models import load
from anystream.runtime.folder_lock import FolderLock
from anystream.runtime.run_state import RunState, read_parts, write_parts

BEGIN_ANEW = "begin anew with --restart (in Python: CheckpointFolder.clear)"
_NAME = re.compile(r"checkpoint-([1-9][0-9]{0,17})(-model)?\.safetensors")


class CheckpointError(ValueError):
    """A folder holds no checkpoint that the run can continue from; the message tells what is wrong."""


class CheckpointInUseError(CheckpointError):
    """Another run uses the folder."""


class _SavedModel(NamedTuple):
    """A model and its file in the folder."""

    model: Any
    name: str
    fingerprint: str


class CheckpointFolder:
    """A folder for the checkpoints of one run, and the interval between them.

    Parameters
    ----------
    path : path
        The folder; it is created if necessary. One run at a time may use it.
    every_records : int, optional
        Save a checkpoint after this many classified records.
    every_s : float, default=10.0
        Save a checkpoint after this many seconds; infinity for never.
    keep : int, default=3
        Number of checkpoints that are kept. If the last is damaged, the one before it is loaded.
    notes : dict, optional
        Saved with the model, see `save` of a classifier.
    belongs_to : mapping of str to JSON values, optional
        What the answers depend on beside input and model, such as options by their names. `load` raises
        `CheckpointError` if a checkpoint has other values. ``model``, if given, is the fingerprint of the model file
        that the run began with; the model in the checkpoint itself is accepted, too.
    report : callable, optional
        Called with a text for each checkpoint that cannot be saved or loaded; by default it becomes a warning.

    Notes
    -----
    The folder is locked from the first `load`, `save` or `clear` to `close`, which `Engine.run` calls at its end, or to
    the end of the process.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        every_records: int | None = None,
        every_s: float = 10.0,
        keep: int = 3,
        notes: dict[str, Any] | None = None,
        belongs_to: Mapping[str, Any] | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        if every_records is not None and every_records < 1:
            raise ValueError(f"every_records is {every_records}; use 1 or more")
        if not every_s > 0.0:
            raise ValueError(f"every_s is {every_s}; use a positive number of seconds")
        if keep < 1:
            raise ValueError(f"keep is {keep}; use 1 or more checkpoints")
        self.path = Path(path)
        self.every_records = every_records
        self.every_s = every_s
        self.keep = keep
        self.notes = notes
        self.belongs_to = dict(belongs_to or {})
        self.report = report or _warn
        self._lock = FolderLock(self.path)
        self._complete: dict[int, str] = {}  # number of each intact checkpoint, and the name of its model file
        self._saved_model: _SavedModel | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def is_due(self, records_since: int, seconds_since: float) -> bool:
        """Whether to save a checkpoint, this many classified records and seconds after the last."""
        return seconds_since >= self.every_s or (self.every_records is not None and records_since >= self.every_records)

    def lock(self) -> None:
        """Lock the folder until `close`; CheckpointError if another run uses it."""
        try:
            self._lock.acquire()
        except BlockingIOError:
            raise CheckpointInUseError(
                f"{self.path}: another run (process {self._lock.read_owner()}) uses this folder for its checkpoints; "
                "wait for its end, or name another folder"
            ) from None

    def save(self, state: RunState) -> None:
        """Save a checkpoint, and remove the oldest one if there are more than `keep`."""
        self.lock()
        number = max(self._numbers(), default=0) + 1
        saved = self._save_model(state.model, number)
        head = {"model": saved.name, "model_fingerprint": saved.fingerprint, "belongs_to": self.belongs_to}
        write_parts(self._state_path(number), head, state)
        self._complete[number] = saved.name
        self._remove_old()

    def load(self) -> RunState | None:
        """Load the last checkpoint that is intact; return None if there is none at all.

        Raises
        ------
        CheckpointError
            When the folder is in use, all checkpoints are damaged, or the checkpoint belongs to another run.
        """
        self.lock()
        try:
            return self._load()
        except BaseException:
            self.close()
            raise

    def clear(self) -> None:
        """Remove all checkpoints, so that the next run begins anew."""
        self.lock()
        self._complete = {}
        self._saved_model = None
        self._remove_old()

    def close(self) -> None:
        """Unlock the folder."""
        self._lock.release()

    # -- details -----------------------------------------------------------------------------------------------------

    def _load(self) -> RunState | None:
        damaged: list[str] = []
        for number in sorted(self._numbers(), reverse=True):
            try:
                head, parts = read_parts(self._state_path(number))
                state = RunState(self._load_model(head), **parts)
                self._complete[number] = head["model"]
            except (ModelFileError, OSError, KeyError, TypeError, ValueError) as error:
                damaged.append(str(error) if isinstance(error, ModelFileError | OSError) else repr(error))
                continue
            self._check_owner(head)
            for reason in damaged:
                self.report(f"a checkpoint is damaged: {reason}; checkpoint {number} is used")
            return state
        if damaged:
            raise CheckpointError(f"{self.path}: every checkpoint is damaged: {'; '.join(damaged)}; {BEGIN_ANEW}")
        return None

    def _state_path(self, number: int) -> Path:
        return self.path / f"checkpoint-{number}.safetensors"

    def _numbers(self) -> list[int]:
        """Return the numbers of the checkpoints in the folder, damaged ones included."""
        found = [_NAME.fullmatch(name) for name in os.listdir(self.path)]
        return [int(match[1]) for match in found if match is not None and match[2] is None]

    def _save_model(self, model: Any, number: int) -> _SavedModel:
        """Write the model, unless it is in the folder already."""
        saved = self._saved_model
        if saved is None or saved.model is not model or not (self.path / saved.name).exists():
            path = self.path / f"checkpoint-{number}-model.safetensors"
            model.save(path, notes=self.notes)
            self._saved_model = saved = _SavedModel(model, path.name, read_fingerprint(path))
        return saved

    def _load_model(self, head: dict[str, Any]) -> Any:
        name, expected = head["model"], head["model_fingerprint"]
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r} is no model file")
        if read_fingerprint(self.path / name) != expected:
            raise ModelFileError(f"{self.path / name}: is not the model of the checkpoint")
        model = load(self.path / name)
        self._saved_model = _SavedModel(model, name, expected)
        return model

    def _check_owner(self, head: dict[str, Any]) -> None:
        """Raise CheckpointError if the checkpoint belongs to another run."""
        theirs: dict[str, Any] = head["belongs_to"]
        for name in [*self.belongs_to, *(name for name in theirs if name not in self.belongs_to)]:
            found, expected = self.belongs_to.get(name), theirs.get(name)
            if found == expected or (name == "model" and found == head["model_fingerprint"]):
                continue
            difference = (
                "another model; give the one that the run began with"
                if name == "model"
                else f"{name} {_show(expected)}, this run has {_show(found)}; give the same"
            )
            raise CheckpointError(f"{self.path}: the checkpoint belongs to a run with {difference}, or {BEGIN_ANEW}")

    def _remove_old(self) -> None:
        """Remove all files of checkpoints but those of the last intact ones; states before the models they name."""
        self._complete = dict(sorted(self._complete.items())[-self.keep :])
        kept = {self._state_path(number).name for number in self._complete} | set(self._complete.values())
        found = [name for name in os.listdir(self.path) if _NAME.fullmatch(name) and name not in kept]
        for name in sorted(found, key=_is_model):
            with suppress(OSError):
                (self.path / name).unlink()


def _is_model(name: str) -> bool:
    return name.endswith("-model.safetensors")


def _show(value: Any) -> str:
    return "none" if value is None else repr(value)


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)
