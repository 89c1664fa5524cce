"""Head of a model file: parameters, classes and columns of any classifier."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream._native import ModelFileError
from anystream.model_file.checks import require_kind, require_metadata
from anystream.model_file.container import ModelFile
from anystream.model_file.label_json import labels_from_json, labels_to_json


@dataclass(frozen=True, eq=False)
class ModelHead:
    """Metadata that every classifier stores beside what it has learned.

    Parameters
    ----------
    parameters : dict
        Constructor parameters as JSON values.
    classes : array of shape (n_classes,)
        Class labels.
    columns : tuple, optional
        Feature names or numbers in column order; None for records without features, such as texts.
    named : bool
        Whether the columns are names from a data frame.
    """

    parameters: dict[str, Any]
    classes: NDArray[Any]
    columns: tuple[Hashable, ...] | None
    named: bool

    def to_json(self) -> dict[str, Any]:
        """Return the head as metadata."""
        return {
            "parameters": self.parameters,
            "classes": labels_to_json(self.classes),
            "columns": None if self.columns is None else labels_to_json(np.array(self.columns)),
            "named": self.named,
        }

    @classmethod
    def read(cls, file: ModelFile, kind: str, versions: Collection[int]) -> Self:
        """Read and check the head of a file, which must be of this kind and of one of these versions."""
        require_kind(file, kind, versions)
        parameters = require_metadata(file, "parameters", dict)
        classes = labels_from_json(file, "classes")
        if len(classes) == 0:
            raise ModelFileError(f"{file.path}: has no classes; save the model again")
        if "columns" in file.metadata and file.metadata["columns"] is None:
            return cls(parameters, classes, None, False)
        columns = labels_from_json(file, "columns")
        if len(columns) == 0:
            raise ModelFileError(f"{file.path}: has no features; save the model again")
        return cls(parameters, classes, tuple(columns.tolist()), require_metadata(file, "named", bool))


def json_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with tuples as lists, as JSON stores them."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in parameters.items()}
