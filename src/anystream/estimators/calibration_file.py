"""Calibration in the metadata of a model file."""

from __future__ import annotations

from typing import Any

from anystream._native import ModelFileError
from anystream.estimators.calibration import Calibration
from anystream.model_file import ModelFile, require_metadata
from anystream.model_file.errors import RESTORE

_KEY = "calibration"


def dump_calibration(calibration: Calibration | None) -> dict[str, Any]:
    """Return the metadata of a calibration; none for None."""
    return {} if calibration is None else {_KEY: calibration.to_json()}


def read_calibration(file: ModelFile) -> Calibration | None:
    """Return the calibration of a file, None if it has none; ModelFileError, with the path, if it is invalid."""
    if _KEY not in file.metadata:
        return None
    try:
        return Calibration.from_json(require_metadata(file, _KEY, dict))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"{file.path}: the calibration is invalid: {error}; {RESTORE}") from None
