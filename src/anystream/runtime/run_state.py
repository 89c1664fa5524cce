"""State of a run, and its form in a file.

The file is a container of `anystream.model_file`, which checks every byte. A part of the state is a JSON text, held as
an array of bytes because it may be large, and beside it the arrays of the part, named part.value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.model_file import read_model, require_kind, write_model

_KIND = "checkpoint"
_VERSION = 1
_SLICE = 1000  # values encoded at a time: other threads run in between


@dataclass(slots=True)
class RunState:
    """Everything that a run needs to continue.

    Each part is written and read by one class, in its `state` and `restore`. A part holds JSON values, float64 arrays
    and lists of float64 rows, by name; this module does not look into it. Rows are read back as one matrix.

    Parameters
    ----------
    model : anytime classifier
        The model, with what it has learned; it does not change any more.
    intake : dict
        State of `Intake`: how far the source was read, and which records are unfinished.
    labels : dict
        State of `LabelIntake`: how far the label source was read; empty without one.
    learner : dict
        State of the `Learner`: labelled records that the model has not learned yet.
    matcher : dict
        State of `LabelMatcher`: records that wait for their label, and labels that wait for their record.
    delivery : dict
        Marks of `Delivery`: how much of the answers and dead letters belongs to the checkpoint.
    summary : dict
        State of `Summary`: the account so far.
    """

    model: Any
    intake: dict[str, Any]
    labels: dict[str, Any]
    learner: dict[str, Any]
    matcher: dict[str, Any]
    delivery: dict[str, Any]
    summary: dict[str, Any]


PARTS = tuple(field.name for field in fields(RunState) if field.name != "model")


def write_parts(path: str | PathLike[str], metadata: Mapping[str, Any], state: RunState) -> None:
    """Write the parts of a state, all but the model, with some metadata."""
    arrays: dict[str, NDArray[Any]] = {}
    for part in PARTS:
        values: dict[str, Any] = getattr(state, part)
        matrices = {name: _to_matrix(value) for name, value in values.items() if _holds_numbers(value)}
        text = b"".join(_encode_json({name: value for name, value in values.items() if name not in matrices}))
        arrays[part] = np.frombuffer(text, dtype=np.uint8)
        arrays |= {f"{part}.{name}": matrix for name, matrix in matrices.items()}
    write_model(path, kind=_KIND, version=_VERSION, metadata=metadata, arrays=arrays)


def read_parts(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the metadata and the parts of a file; ModelFileError, KeyError or ValueError if it is damaged."""
    file = read_model(path, mmap=False)
    require_kind(file, _KIND, (_VERSION,))
    parts: dict[str, dict[str, Any]] = {part: json.loads(file.arrays[part].tobytes()) for part in PARTS}
    for full_name, array in file.arrays.items():
        part, dot, name = full_name.partition(".")
        if dot:
            parts[part][name] = array
    return file.metadata, parts


def _holds_numbers(value: Any) -> bool:
    return isinstance(value[0] if isinstance(value, list) and value else value, np.ndarray)


def _to_matrix(value: NDArray[np.float64] | list[NDArray[np.float64]]) -> NDArray[np.float64]:
    if isinstance(value, np.ndarray):
        return value
    matrix = np.empty((len(value), len(value[0])))
    for first in range(0, len(value), _SLICE):
        matrix[first : first + _SLICE] = value[first : first + _SLICE]
    return matrix


def _encode_json(values: dict[str, Any]) -> Iterator[bytes]:
    """Yield a JSON object in pieces that are quickly made, since encoding one value stops all other threads."""
    yield b"{"
    for at, (name, value) in enumerate(values.items()):
        yield f"{', ' if at else ''}{json.dumps(name)}: ".encode()
        if isinstance(value, list):
            yield b"["
            for first in range(0, len(value), _SLICE):
                yield (", " if first else "").encode() + json.dumps(value[first : first + _SLICE])[1:-1].encode()
            yield b"]"
        else:
            yield json.dumps(value).encode()
    yield b"}"
