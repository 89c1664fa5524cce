"""A Bayes tree classifier as metadata and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anystream._native import BayesForest
from anystream.anytime.class_labels import labels_from_json, labels_to_json
from anystream.model_file import (
    ArraySpec,
    ModelFile,
    ModelFileError,
    check_arrays,
    require_kind,
    require_metadata,
)

if TYPE_CHECKING:
    from anystream.bayes_tree.classifier import BayesTreeClassifier

Model = TypeVar("Model", bound="BayesTreeClassifier")

_TINY = float(np.finfo(np.float64).tiny)
_SPECS = {
    "points": ArraySpec("float64", ("objects", "d")),
    "point_class": ArraySpec("int32", ("objects",)),
    "shift": ArraySpec("float64", ("d",), finite=True),
    "scale": ArraySpec("float64", ("d",), low=_TINY, finite=True),
    "class_count": ArraySpec("int64", ("classes",), low=0, high="objects"),
    "class_observed": ArraySpec("float64", ("classes", "d"), low=0, high="objects"),
    "class_mean": ArraySpec("float64", ("classes", "d"), finite=True),
    "class_scatter": ArraySpec("float64", ("classes", "d"), low=0, finite=True),
    "class_root": ArraySpec("int32", ("classes",)),
    "kernel_precision": ArraySpec("float32", ("classes", "d"), low=_TINY, finite=True),
    "kernel_log2_norm": ArraySpec("float32", ("classes",), finite=True),
    "root_blob": ArraySpec("float32", ("root_floats",)),
    "blob": ArraySpec("float32", ("floats",)),
    "head": ArraySpec("uint64", ("nodes",)),
    "node_class": ArraySpec("int32", ("nodes",)),
    "node_count": ArraySpec("int64", ("nodes",)),
    "node_mean": ArraySpec("float64", ("nodes", "d")),
    "node_scatter": ArraySpec("float64", ("nodes", "d")),
    "assembled_at": ArraySpec("int64", (1,), low=0),
}
"""Shapes of all arrays, ranges of the small ones. The large ones are read only where a query goes: native code checks
the places of all nodes at once, and every child before it follows it; learning checks everything first."""


def forest_to_file(model: BayesTreeClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `forest_from_file` needs to make the model again."""
    metadata = {
        "parameters": model.get_params(),
        "classes": labels_to_json(model.classes_),
        "columns": labels_to_json(np.array(list(model.columns_))),
        "named": hasattr(model, "feature_names_in_"),
    }
    sizes = {"d": model.n_features_in_, "classes": len(model.classes_)}
    flat = model.forest_.arrays(ordered=True)
    return metadata, {name: _shaped(flat[name], spec, sizes) for name, spec in _SPECS.items()}


def forest_from_file(cls: type[Model], file: ModelFile, *, mapped: bool) -> Model:
    """The model of a file, every value checked before it is used."""
    require_kind(file, cls.kind, (cls.file_version,))
    model = cls()
    parameters = require_metadata(file, "parameters", dict)
    classes = labels_from_json(file, "classes")
    columns = labels_from_json(file, "columns")
    try:
        model.set_params(**parameters)
        settings = model._check_parameters()
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"{file.path}: the parameters are not those of a Bayes tree: {error}") from None
    arrays, sizes = check_arrays(file, _SPECS, {"d": len(columns), "classes": len(classes)})
    try:
        flat = {name: array.reshape(-1) for name, array in arrays.items()}
        model.forest_ = BayesForest.from_arrays(settings, sizes["d"], flat, whole=not mapped)
    except ModelFileError as error:
        raise ModelFileError(f"{file.path}: {error}") from None
    model.classes_ = classes
    model.n_features_in_ = len(columns)
    model.columns_ = {name: column for column, name in enumerate(columns.tolist())}
    if require_metadata(file, "named", bool):
        model.feature_names_in_ = np.asarray(columns, dtype=object)
    return model


def _shaped(flat: NDArray[Any], spec: ArraySpec, sizes: dict[str, int]) -> NDArray[Any]:
    if len(spec.shape) == 1:
        return flat
    columns = sizes[str(spec.shape[1])]
    return flat.reshape(-1, columns)
