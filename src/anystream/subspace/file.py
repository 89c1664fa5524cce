"""A LOCUST classifier as metadata and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anystream._native import DamagedModelError
from anystream.anytime.class_labels import labels_from_json, labels_to_json
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays, require_kind, require_metadata

if TYPE_CHECKING:
    from anystream.subspace.locust import Locust

Model = TypeVar("Model", bound="Locust")

LEVEL_ARRAYS = {
    "value": ArraySpec("float32", ("points", "d")),
    "point_class": ArraySpec("int32", ("points",), low=0, high="classes-1"),
    "arrival": ArraySpec("int64", ("points",), low=0),
    "level_state": ArraySpec("int64", ("levels", 3), low=0),
    "cut": ArraySpec("float32", ("cuts",), finite=True),
    "cut_end": ArraySpec("int64", ("levels", "d"), low=0, high="cuts"),
    "regret": ArraySpec("float64", ("weighed",), low=0, finite=True),
    "seen": ArraySpec("int64", (1,), low=0),
}
"""The points of the levels and their ranges; the inverted lists are made again from them."""

BLOCK_ARRAYS = {
    "code": ArraySpec("uint8", ("points", "d")),
    "point_class": ArraySpec("int32", ("points",), low=0, high="classes-1"),
    "block_size": ArraySpec("int64", ("blocks",), low=1),
    "middle": ArraySpec("float32", ("ranges",)),
    "cut": ArraySpec("float32", ("cuts",), finite=True),
    "cut_end": ArraySpec("int64", ("blocks", "d"), low=0, high="cuts"),
    "open_value": ArraySpec("float32", ("open", "d")),
    "open_class": ArraySpec("int32", ("open",), low=0, high="classes-1"),
    "state": ArraySpec("int64", (4,), low=0),
    "first_seen": ArraySpec("int64", ("classes",), low=0),
}
"""The ranges of the blocks and in which of them each point lies, and the block that is being filled."""


def locust_to_file(
    model: Locust, specs: Mapping[str, ArraySpec]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
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
    arrays, d = model.model_.arrays(), model.n_features_in_
    shapes = {name: [d if size == "d" else size for size in spec.shape[1:]] for name, spec in specs.items()}
    return metadata, {name: arrays[name].reshape(-1, *shapes[name]) for name in specs}


def locust_from_file(cls: type[Model], file: ModelFile, specs: Mapping[str, ArraySpec]) -> Model:
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
    arrays, sizes = check_arrays(file, specs, {"d": len(columns), "classes": len(classes)})
    try:
        flat = {name: array.reshape(-1) for name, array in arrays.items()}
        model.model_ = model._native_model.from_arrays(settings, sizes["d"], len(classes), flat)
    except (DamagedModelError, ValueError) as error:
        raise ModelFileError(f"{file.path}: {error}; restore the file from a copy or save the model again") from None
    model.classes_ = classes
    model.n_features_in_ = len(columns)
    if require_metadata(file, "named", bool):
        model.feature_names_in_ = np.asarray(columns, dtype=object)
    return model
