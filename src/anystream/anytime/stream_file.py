"""A stream classifier as metadata and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anystream._native import DamagedModelError
from anystream.anytime.class_labels import labels_from_json, labels_to_json
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays, require_kind, require_metadata

if TYPE_CHECKING:
    from anystream.anytime.stream_model import StreamClassifier

Model = TypeVar("Model", bound="StreamClassifier")


def stream_model_to_file(model: StreamClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `stream_model_from_file` needs to make the model again."""
    parameters = {
        name: list(value) if isinstance(value, tuple) else value for name, value in model.get_params().items()
    }
    metadata = {
        "parameters": parameters,
        "classes": labels_to_json(model.classes_),
        "columns": labels_to_json(np.array(list(model.columns_))),
        "named": hasattr(model, "feature_names_in_"),
    }
    arrays, d = model.model_.arrays(), model.n_features_in_
    return metadata, {name: arrays[name].reshape(_shape(spec, d)) for name, spec in model._arrays.items()}


def stream_model_from_file(cls: type[Model], file: ModelFile) -> Model:
    """The model of a file. Shapes and ranges are checked here, native code checks that the arrays fit each other."""
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
        raise ModelFileError(f"{file.path}: the parameters are not those of a {cls.__name__}: {error}") from None
    arrays, sizes = check_arrays(file, model._arrays, {"d": len(columns), "classes": len(classes)})
    try:
        flat = {name: array.reshape(-1) for name, array in arrays.items()}
        model.model_ = cls._native_model.from_arrays(settings, sizes["d"], len(classes), flat)
    except (DamagedModelError, ValueError) as error:
        raise ModelFileError(f"{file.path}: {error}; restore the file from a copy or save the model again") from None
    model.classes_ = classes
    model.n_features_in_ = len(columns)
    if require_metadata(file, "named", bool):
        model.feature_names_in_ = np.asarray(columns, dtype=object)
    return model


def _shape(spec: ArraySpec, d: int) -> tuple[int, ...]:
    if len(spec.shape) == 1:
        return (-1,)
    first, *rest = spec.shape
    return (first if isinstance(first, int) else -1, *(d if size == "d" else int(size) for size in rest))
