"""A run kept on disk, so that another process can go on with it after any end.

A folder holds the state of a run at one instant::

    state.json              offsets, positions and counts; names the two files below
    model-<n>.safetensors   the model
    waiting-<n>.safetensors records that wait for their label, and labelled records not yet learned

The two files are written first, under new names; then ``state.json`` is replaced in one step, which is the instant at
which the checkpoint is made; then the files of the one before are removed. A kill at any point leaves the last complete
checkpoint, or none.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.model_file import read_model, require_kind, write_model
from anystream.model_file.replace_file import LEFT_OVER, replace_file
from anystream.saved_models import load

_VERSION = 1
_KIND = "checkpoint-waiting"


class CheckpointError(ValueError):
    """A folder holds no checkpoint that can be used; the message says what is wrong."""


@dataclass(slots=True)
class RunState:
    """Everything that a run needs to go on.

    Parameters
    ----------
    model : anytime classifier
        The model, with what it has learned.
    resume_at : int
        Offset of the first record that was taken and not finished, or of the next one.
    read_to : int
        Offset up to which the source was read.
    unfinished : list of int
        Offsets, from `resume_at` to `read_to`, of the records that were not finished; the others there were.
    sink_position, dead_position : int
        How much of the answers and dead letters belongs to the checkpoint.
    label_offset : int
        Where the next label begins.
    summary : dict
        The account so far.
    unlearned : list of (features, label)
        Labelled records that the model has not learned yet.
    waiting_keys, waiting_rows, waiting_labels
        Records that wait for their label, and labels that wait for their record.
    """

    model: Any
    resume_at: int
    read_to: int
    unfinished: list[int]
    sink_position: int
    dead_position: int
    label_offset: int
    summary: dict[str, Any]
    unlearned: list[tuple[NDArray[np.float64], Any]] = field(default_factory=list)
    waiting_keys: list[Any] = field(default_factory=list)
    waiting_rows: list[NDArray[np.float64]] = field(default_factory=list)
    waiting_labels: dict[Any, Any] = field(default_factory=dict)


_PLAIN = ("resume_at", "read_to", "unfinished", "sink_position", "dead_position", "label_offset", "summary")


class CheckpointFolder:
    """Where checkpoints are kept, and how often they are made.

    Parameters
    ----------
    path : path
        The folder; it is made if it is not there. One run at a time may use it.
    every_records : int, optional
        A checkpoint after so many answered records.
    every_s : float, default=10.0
        A checkpoint after so many seconds; infinity for never.
    notes : dict, optional
        Kept with the model, see `save` of a classifier.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        every_records: int | None = None,
        every_s: float = 10.0,
        notes: dict[str, Any] | None = None,
    ) -> None:
        if every_records is not None and every_records < 1:
            raise ValueError(f"every_records is {every_records}; use 1 or more")
        if not every_s > 0.0:
            raise ValueError(f"every_s is {every_s}; use a positive number of seconds")
        self.path = Path(path)
        self.every_records = every_records
        self.every_s = every_s
        self.notes = notes
        self._number = 0

    def is_due(self, answered_since: int, seconds_since: float) -> bool:
        """Whether a checkpoint should be made, so many records and seconds after the last."""
        return seconds_since >= self.every_s or (
            self.every_records is not None and answered_since >= self.every_records
        )

    def save(self, state: RunState) -> None:
        """Make a checkpoint."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._number += 1
        model, waiting = f"model-{self._number}.safetensors", f"waiting-{self._number}.safetensors"
        state.model.save(self.path / model, notes=self.notes)
        _write_waiting(self.path / waiting, state)
        plain = {name: getattr(state, name) for name in _PLAIN}
        record = {"version": _VERSION, "number": self._number, "model": model, "waiting": waiting} | plain
        replace_file(self.path / "state.json", [json.dumps(record).encode()])
        self._remove_all_but(model, waiting)

    def load(self) -> RunState | None:
        """The last checkpoint; None if none was made."""
        try:
            text = (self.path / "state.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        remedy = "remove the folder to start anew"
        try:
            record = json.loads(text)
            if record["version"] != _VERSION:
                raise CheckpointError(
                    f"{self.path}: written in version {record['version']} of the layout, this one reads {_VERSION}; "
                    f"{remedy}"
                )
            self._number = int(record["number"])
            plain = {name: record[name] for name in _PLAIN}
            model = load(self.path / record["model"])
            unlearned, keys, rows, labels = _read_waiting(self.path / record["waiting"])
        except (json.JSONDecodeError, KeyError, TypeError, FileNotFoundError) as error:
            raise CheckpointError(f"{self.path}: the checkpoint cannot be read ({error!r}); {remedy}") from None
        return RunState(
            model, **plain, unlearned=unlearned, waiting_keys=keys, waiting_rows=rows, waiting_labels=labels
        )

    def _remove_all_but(self, *names: str) -> None:
        found = [*self.path.glob("*-*.safetensors"), *self.path.glob(LEFT_OVER)]  # the latter by a kill while writing
        for path in found:
            if path.name not in names:
                with suppress(OSError):
                    path.unlink()


def _write_waiting(path: Path, state: RunState) -> None:
    write_model(
        path,
        kind=_KIND,
        version=1,
        metadata={
            "unlearned_labels": [_plain(label) for _, label in state.unlearned],
            "keys": [_plain(key) for key in state.waiting_keys],
            "labels": [[_plain(key), _plain(label)] for key, label in state.waiting_labels.items()],
        },
        arrays={"unlearned": _stacked([x for x, _ in state.unlearned]), "waiting": _stacked(state.waiting_rows)},
    )


def _read_waiting(path: Path) -> tuple[list[tuple[NDArray[np.float64], Any]], list[Any], list[Any], dict[Any, Any]]:
    file = read_model(path)
    require_kind(file, _KIND, (1,))
    unlearned = list(zip(file.arrays["unlearned"], file.metadata["unlearned_labels"], strict=True))
    labels = dict(file.metadata["labels"])
    return unlearned, file.metadata["keys"], list(file.arrays["waiting"]), labels


def _stacked(rows: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.array(rows, dtype=np.float64) if rows else np.empty((0, 0))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
