"""Class labels and column names as JSON values of a model file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream._native import ModelFileError
from anystream.model_file.checks import require_metadata
from anystream.model_file.container import ModelFile

_DTYPES = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64, "U": np.str_, "O": np.object_}


def labels_to_json(labels: NDArray[Any]) -> dict[str, Any]:
    """Return labels and their type as JSON values."""
    values = labels.tolist()
    for value in values:
        if not (value is None or isinstance(value, bool | int | float | str)):
            raise TypeError(
                f"a model file cannot store the label {value!r}; use text or numbers for labels and features"
            )
    return {"kind": labels.dtype.kind, "values": values}


def labels_from_json(file: ModelFile, key: str) -> NDArray[Any]:
    """Return the labels that `labels_to_json` wrote as metadata `key`."""
    found = require_metadata(file, key, dict)
    kind, values = found.get("kind"), found.get("values")
    flat = isinstance(kind, str) and isinstance(values, list) and not any(isinstance(v, list | dict) for v in values)
    if not flat or kind not in _DTYPES:
        raise ModelFileError(f"{file.path}: metadata {key!r} is not a list of labels; save the model again")
    try:
        labels: NDArray[Any] = np.array(values, dtype=_DTYPES[kind])
    except (TypeError, ValueError, OverflowError):
        raise ModelFileError(
            f"{file.path}: the labels of metadata {key!r} are not of one type; save the model again"
        ) from None
    if len({(type(value), value) for value in labels.tolist()}) != len(labels):
        raise ModelFileError(f"{file.path}: metadata {key!r} lists a label twice; save the model again")
    return labels
