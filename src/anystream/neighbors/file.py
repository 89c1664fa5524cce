"""A neighbours classifier as metadata and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.anytime.file_head import head_to_json, model_with_head
from anystream.anytime.profile import PerformanceProfile
from anystream.model_file import (
    ArraySpec,
    ModelFile,
    ModelFileError,
    check_arrays,
    require_metadata,
)
from anystream.neighbors.exemplars import Exemplars
from anystream.neighbors.parameters import capacity

if TYPE_CHECKING:
    from anystream.neighbors.classifier import AnytimeNeighborsClassifier

Model = TypeVar("Model", bound="AnytimeNeighborsClassifier")

_COMMON = {
    "label": ArraySpec("int32", ("exemplars",), low=0, high="classes-1"),
    "serial": ArraySpec("int64", ("exemplars",), low=0),
    "layout": ArraySpec("int64", (5,), low=0),
    "list": ArraySpec("int64", ("borders",), low=0, high="exemplars", sorted=True),
    "centre_distance": ArraySpec("float64", ("listed",), low=0),
}
_BLOCKS = {
    "rows": ArraySpec("float64", ("values",)),
    "blocks": ArraySpec("uint32", ("lanes",)),
    "slack": ArraySpec("float32", ("blocks",), low=0),
    "origin": ArraySpec("float64", ("width",), finite=True),
    "scale": ArraySpec("float64", (1,), low=0, finite=True),
    "missing": ArraySpec("uint8", (1,), high=1),
}
_PAIRS = {
    "values": ArraySpec("float64", ("values",), finite=True),
    "first": ArraySpec("int64", ("exemplars",), low=0, high="values"),
    "length": ArraySpec("int64", ("exemplars",), low=0, high="values"),
    "traits": ArraySpec("float64", ("traits",), finite=True),
}
_LEARNED = "learned."


def model_to_file(model: AnytimeNeighborsClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `model_from_file` needs to make the model again."""
    exemplars = model.exemplars_
    if not isinstance(exemplars, Exemplars):
        raise TypeError(
            "a model with a Python metric cannot be kept in a file that holds no code; pickle it, or use a named metric"
        )
    trimmed = None if model.trimmed_ is None else model.trimmed_.to_json()
    metadata = head_to_json(model, _as_json(model.get_params())) | {"trimmed": trimmed}
    learned = {_LEARNED + name: array for name, array in exemplars.distance.learned.items()}
    return metadata, {**exemplars.gallery.arrays(), **learned}


def model_from_file(cls: type[Model], file: ModelFile) -> Model:
    """The model of a file, every value checked before it is used."""
    model = model_with_head(cls, file, tabular=False)
    distance = model._new_distance()
    if distance.records != "texts":
        require_metadata(file, "columns", dict)
    sizes = {"classes": len(model.classes_), "d": getattr(model, "n_features_in_", 0)}
    learned = {_LEARNED + name: spec for name, spec in distance.learned_arrays().items()}
    kind = _BLOCKS if "blocks" in file.arrays else _PAIRS
    arrays, _ = check_arrays(file, {**_COMMON, **kind, **learned}, sizes)
    distance.learned = {name.removeprefix(_LEARNED): np.array(arrays.pop(name)) for name in learned}
    try:
        distance.check_learned(sizes["d"])
        gallery = _native.NeighborsGallery.from_arrays(distance.native, sizes["classes"], capacity(model), arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{file.path}: {error}") from None
    except (OverflowError, TypeError, ValueError) as error:
        raise ModelFileError(f"{file.path}: {error}; restore the file from a copy or save the model again") from None
    model.exemplars_ = Exemplars(distance, gallery)
    model.trimmed_ = _trimmed(file)
    return model


def _trimmed(file: ModelFile) -> PerformanceProfile | None:
    if file.metadata.get("trimmed") is None:
        return None
    try:
        return PerformanceProfile.from_json(require_metadata(file, "trimmed", str))
    except ValueError as error:
        raise ModelFileError(f"{file.path}: {error}") from None


def _as_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters with arrays as lists."""
    params = parameters["metric_params"]
    if params is not None:
        params = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in params.items()}
    return parameters | {"metric_params": params}
