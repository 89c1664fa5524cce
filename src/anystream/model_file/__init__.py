"""Reading and writing models: arrays and metadata, no code."""

from anystream._native import ModelFileError
from anystream.model_file.checks import ArraySpec, check_arrays, require_kind, require_metadata
from anystream.model_file.container import FORMAT, ModelFile, read_model, write_model
from anystream.model_file.head import ModelHead

__all__ = [
    "FORMAT",
    "ArraySpec",
    "ModelFile",
    "ModelFileError",
    "ModelHead",
    "check_arrays",
    "read_model",
    "require_kind",
    "require_metadata",
    "write_model",
]
