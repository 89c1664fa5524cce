"""Class labels and column names as JSON values of a model file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream._native import ModelFileError
from anystream.model_file.checks import require_metadata
from anystream.model_file.container import ModelFile
from anystream.model_file.errors import short

_DTYPES = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64, "U": np.str_, "O": np.object_}
MAX_CHARACTERS = 10_000
"""Maximum number of characters in a label or the name of a column."""
_MAX_ARRAY_BYTES = 2**28  # of an array of texts, in which each takes as much as the longest


def labels_to_json(labels: NDArray[Any]) -> dict[str, Any]:
    """Return labels and their type as JSON values."""
    values = labels.tolist()
    if fault := _find_long_text(values):
        raise ValueError(f"a model file cannot store these labels or columns: {fault}")
    for value in values:
        if not (value is None or isinstance(value, bool | int | float | str)):
            raise TypeError(
                f"a model file cannot store the label {value!r}; use text or numbers for labels and features"
            )
    return {"kind": labels.dtype.kind, "values": values}


def labels_from_json(file: ModelFile, key: str) -> NDArray[Any]:
    """Return the labels that `labels_to_json` wrote as metadata `key`."""
    found: dict[str, Any] = require_metadata(file, key, dict)
    kind: Any = found.get("kind")
    values: Any = found.get("values")
    flat = isinstance(kind, str) and isinstance(values, list) and not any(isinstance(v, list | dict) for v in values)
    if not flat or kind not in _DTYPES:
        raise ModelFileError(f"{file.path}: metadata {key!r} is not a list of labels; save the model again")
    if fault := _find_long_text(values):
        raise ModelFileError(f"{file.path}: metadata {key!r}: {fault}")
    try:
        labels: NDArray[Any] = np.array(values, dtype=_DTYPES[kind])
    except (TypeError, ValueError, OverflowError):
        raise ModelFileError(
            f"{file.path}: the labels of metadata {key!r} are not of one type; save the model again"
        ) from None
    if len({(type(value), value) for value in labels.tolist()}) != len(labels):
        raise ModelFileError(f"{file.path}: metadata {key!r} lists a label twice; save the model again")
    return labels


def _find_long_text(values: list[Any]) -> str:
    """Return what is wrong with labels or names of columns that would take too much memory; empty if nothing is."""
    longest = max((value for value in values if isinstance(value, str)), key=len, default="")
    if len(longest) > MAX_CHARACTERS:
        return f"{short(longest)} has {len(longest)} characters, allowed are {MAX_CHARACTERS}; use shorter texts"
    if 4 * len(longest) * len(values) > _MAX_ARRAY_BYTES:
        size = f"{len(values)} texts of up to {len(longest)} characters"
        return f"{size} take more than {_MAX_ARRAY_BYTES} bytes; shorten {short(longest)}"
    return ""
