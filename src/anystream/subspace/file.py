"""A LOCUST classifier as metadata and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anystream._native import DamagedModelError, LocustLevels
from anystream.anytime.class_labels import labels_from_json, labels_to_json
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays, require_kind, require_metadata

if TYPE_CHECKING:
    from anystream.subspace.classifier import LocustClassifier

Model = TypeVar("Model", bound="LocustClassifier")

_SPECS = {
    "value": ArraySpec("float32", ("points", "d")),
    "point_class": ArraySpec("int32", ("points",), low=0, high="classes-1"),
    "arrival": ArraySpec("int64", ("points",), low=0),
    "level_state": ArraySpec("int64", ("levels", 3), low=0),
    "cut": ArraySpec("float32", ("cuts",), finite=True),
    "cut_end": ArraySpec("int64", ("levels", "d"), low=0, high="cuts"),
    "regret": ArraySpec("float64", ("weighed",), low=0, finite=True),
    "seen": ArraySpec("int64", (1,), low=0),
}
"""Points and ranges; the inverted lists are made again from them. Native code checks that they fit each other."""


def locust_to_file(model: LocustClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `locust_from_file` needs to make the model again."""
    parameters = model.get_params()
    if parameters["categorical"] is not None:
        parameters["categorical"] = list(parameters["categorical"])
    metadata = {
        "parameters": parameters,
        "classes": labels_to_json(model.classes_),
        "columns": labels_to_json(np.array(list(model.columns_))),
        "named": hasattr(model, "feature_names_in_"),
    }
    arrays = model.model_.arrays()
    sizes = {"d": model.n_features_in_, "3": 3}
    shaped = {
        name: arrays[name].reshape(-1, sizes[str(spec.shape[1])]) if len(spec.shape) == 2 else arrays[name]
        for name, spec in _SPECS.items()
    }
    return metadata, shaped


def locust_from_file(cls: type[Model], file: ModelFile) -> Model:
    """The model of a file, every value checked before it is used."""
    require_kind(file, cls.kind, (cls.file_version,))
    model = cls()
    parameters = require_metadata(file, "parameters", dict)
    classes = labels_from_json(file, "classes")
    columns = labels_from_json(file, "columns")
    model.columns_ = {name: column for column, name in enumerate(columns.tolist())}
    try:
        model.set_params(**parameters)
        settings = model._model_settings()
        model._query_settings()
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"{file.path}: the parameters are not those of LOCUST: {error}") from None
    arrays, sizes = check_arrays(file, _SPECS, {"d": len(columns), "classes": len(classes)})
    try:
        flat = {name: array.reshape(-1) for name, array in arrays.items()}
        model.model_ = LocustLevels.from_arrays(settings, sizes["d"], len(classes), flat)
    except (DamagedModelError, ValueError) as error:
        raise ModelFileError(f"{file.path}: {error}; restore the file from a copy or save the model again") from None
    model.classes_ = classes
    model.n_features_in_ = len(columns)
    if require_metadata(file, "named", bool):
        model.feature_names_in_ = np.asarray(columns, dtype=object)
    return model
