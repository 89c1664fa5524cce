"""Checkpoints: the state of a run on disk, from which another process can continue after any end.

A folder holds the state of a run at one instant::

    state.json              JSON values of the state; names the two files below
    model-<n>.safetensors   the model
    arrays-<n>.safetensors  arrays of the state, named part.value

The two files are written first, under new names; then ``state.json`` is replaced in one step, and that completes the
checkpoint; then the files of the previous checkpoint are removed. A kill at any point leaves the last complete
checkpoint, or none.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anystream.model_file import read_model, require_kind, write_model
from anystream.model_file.replace_file import LEFT_OVER, replace_file
from anystream.models import load

_VERSION = 2
_KIND = "checkpoint-arrays"
_REMEDY = "remove the folder to start from scratch"


class CheckpointError(ValueError):
    """A folder holds no usable checkpoint; the message tells what is wrong."""


@dataclass(slots=True)
class RunState:
    """Everything that a run needs to continue.

    Each part is written and read by one class, in its `state` and `restore`. A part holds JSON values and float64
    arrays by name; this module does not look into it.

    Parameters
    ----------
    model : anytime classifier
        The model, with what it has learned.
    intake : dict
        State of `Intake`: how far the source was read, and which records are unfinished.
    label_offset : int
        Where the next label begins.
    learner : dict
        State of the `Learner`: labelled records that the model has not learned yet.
    matcher : dict
        State of `LabelMatcher`: records that wait for their label, and labels that wait for their record.
    delivery : dict
        Positions of `Delivery`: how much of the answers and dead letters belongs to the checkpoint.
    summary : dict
        State of `Summary`: the account so far.
    """

    model: Any
    intake: dict[str, Any]
    label_offset: int
    learner: dict[str, Any]
    matcher: dict[str, Any]
    delivery: dict[str, Any]
    summary: dict[str, Any]


_PARTS = ("intake", "learner", "matcher", "delivery", "summary")


class CheckpointFolder:
    """A folder for checkpoints, and the interval between them.

    Parameters
    ----------
    path : path
        The folder; it is created if necessary. One run at a time may use it.
    every_records : int, optional
        Save a checkpoint after this many classified records.
    every_s : float, default=10.0
        Save a checkpoint after this many seconds; infinity for never.
    notes : dict, optional
        Saved with the model, see `save` of a classifier.
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

    def is_due(self, records_since: int, seconds_since: float) -> bool:
        """Whether to save a checkpoint, this many classified records and seconds after the last."""
        return seconds_since >= self.every_s or (self.every_records is not None and records_since >= self.every_records)

    def save(self, state: RunState) -> None:
        """Save a checkpoint, which replaces the last one."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._number += 1
        model, arrays = f"model-{self._number}.safetensors", f"arrays-{self._number}.safetensors"
        state.model.save(self.path / model, notes=self.notes)
        parts = {part: getattr(state, part) for part in _PARTS}
        _write_arrays(self.path / arrays, parts)
        head = {"version": _VERSION, "number": self._number, "model": model, "arrays": arrays}
        content = head | {"label_offset": state.label_offset} | _without_arrays(parts)
        replace_file(self.path / "state.json", [json.dumps(content).encode()])
        self._remove_all_but(model, arrays)

    def load(self) -> RunState | None:
        """Load the last checkpoint; return None if there is none."""
        try:
            text = (self.path / "state.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        try:
            content = json.loads(text)
            if content["version"] != _VERSION:
                raise CheckpointError(
                    f"{self.path}: the checkpoint has version {content['version']} of the layout, this program reads "
                    f"version {_VERSION}; {_REMEDY}"
                )
            self._number = int(content["number"])
            parts = {part: content[part] for part in _PARTS}
            _read_arrays(self.path / content["arrays"], parts)
            return RunState(load(self.path / content["model"]), label_offset=content["label_offset"], **parts)
        except (json.JSONDecodeError, KeyError, TypeError, FileNotFoundError) as error:
            raise CheckpointError(f"{self.path}: the checkpoint cannot be read ({error!r}); {_REMEDY}") from None

    def _remove_all_but(self, *names: str) -> None:
        found = [*self.path.glob("*-*.safetensors"), *self.path.glob(LEFT_OVER)]  # the latter after a kill in a write
        for path in found:
            if path.name not in names:
                with suppress(OSError):
                    path.unlink()


def _write_arrays(path: Path, parts: dict[str, dict[str, Any]]) -> None:
    arrays = {
        f"{part}.{name}": value
        for part, values in parts.items()
        for name, value in values.items()
        if isinstance(value, np.ndarray)
    }
    write_model(path, kind=_KIND, version=1, metadata={}, arrays=arrays)


def _read_arrays(path: Path, parts: dict[str, dict[str, Any]]) -> None:
    """Put the arrays of a file into the parts that they belong to."""
    file = read_model(path)
    require_kind(file, _KIND, (1,))
    for full_name, array in file.arrays.items():
        part, _, name = full_name.partition(".")
        parts[part][name] = array


def _without_arrays(parts: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        part: {name: value for name, value in values.items() if not isinstance(value, np.ndarray)}
        for part, values in parts.items()
    }
