"""A Bayes tree classifier as metadata and arrays."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anystream._native import BayesForest
from anystream.anytime.file_head import head_to_json, model_with_head, parameters_of
from anystream.bayes_tree.metric import Metric, check_metric
from anystream.bayes_tree.selection import Plan
from anystream.model_file import (
    ArraySpec,
    ModelFile,
    ModelFileError,
    check_arrays,
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
    "node_box": ArraySpec("float32", ("box_floats",)),
    "assembled_at": ArraySpec("int64", (1,), low=0),
    "node_covariance": ArraySpec("int32", ("nodes",)),
    "covariance_count": ArraySpec("int64", ("covariances",), low=0),
    "covariance_order": ArraySpec("int32", ("covariances", "d")),
    "covariance_first": ArraySpec("int32", ("covariance_panels",)),
    "covariance_offset": ArraySpec("int64", ("covariances",)),
    "covariance_mean": ArraySpec("float32", ("covariances", "d"), finite=True),
    "covariance_log2_norm": ArraySpec("float32", ("covariances",), finite=True),
    "covariance_values": ArraySpec("float32", ("covariance_floats",)),
    "root_model_shift": ArraySpec("float64", ("root_model_d",), finite=True),
    "root_model_scale": ArraySpec("float64", ("root_model_d",), low=_TINY, finite=True),
    "root_model_mean": ArraySpec("float32", ("root_model_means",), finite=True),
    "root_model_values": ArraySpec("float32", ("root_model_floats",)),
    "root_model_log2_norm": ArraySpec("float32", ("root_model_classes",)),
    "root_model_known": ArraySpec("int64", ("root_models",), low=0),
}
"""Shapes of all arrays, ranges of the small ones. The large ones are read only where a query goes: native code checks
the places of all nodes at once, and every child before it follows it; learning checks everything first."""

_METRIC_SPECS = {
    "metric_shift": ArraySpec("float64", ("d",), finite=True),
    "metric_knots": ArraySpec("float64", ("metric_knots",), finite=True),
    "metric_levels": ArraySpec("float64", ("metric_knots",), finite=True),
    "metric_factor": ArraySpec("float64", ("metric_factors",), finite=True),
    "metric_matrix": ArraySpec("float64", ("metric_products",), finite=True),
}
"""The arrays of a learned metric; a model without one has none of them."""


def forest_to_file(model: BayesTreeClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `forest_from_file` needs to make the model again."""
    metadata = head_to_json(model) | {"plan": asdict(model.plan_)}
    sizes = {"d": model.n_features_in_, "classes": len(model.classes_)}
    flat = model.forest_.arrays(ordered=True)
    arrays = {name: _shaped(flat[name], spec, sizes) for name, spec in _SPECS.items()}
    if model._metric is not None:
        arrays |= {f"metric_{field.name}": getattr(model._metric, field.name) for field in fields(Metric)}
    return metadata, arrays


def forest_from_file(cls: type[Model], file: ModelFile, *, mapped: bool) -> Model:
    """The model of a file, every value checked before it is used."""
    model = model_with_head(cls, file)
    with parameters_of(cls, file):
        model.plan_ = _checked_plan(require_metadata(file, "plan", dict))
        settings = model._forest_settings(model.plan_, model.n_features_in_)
        model._query_settings(model.plan_)
    specs = _SPECS if model.plan_.metric is None else _SPECS | _METRIC_SPECS
    arrays, sizes = check_arrays(file, specs, {"d": model.n_features_in_, "classes": len(model.classes_)})
    model._metric = _checked_metric(file, arrays) if model.plan_.metric is not None else None
    try:
        flat = {name: arrays[name].reshape(-1) for name in _SPECS}
        model.forest_ = BayesForest.from_arrays(settings, sizes["d"], flat, whole=not mapped)
    except ModelFileError as error:
        raise ModelFileError(f"{file.path}: {error}") from None
    return model


def _checked_plan(plan: dict[str, Any]) -> Plan:
    found = Plan(**plan)
    if found.metric is not None:
        check_metric(found.metric)
    weight = found.root_weight
    if weight is not None and (not isinstance(weight, int | float) or not 0 <= weight < float("inf")):
        raise ValueError(f"root_weight is {weight!r}")
    return found


def _checked_metric(file: ModelFile, arrays: dict[str, NDArray[Any]]) -> Metric:
    metric = Metric(**{field.name: np.array(arrays[f"metric_{field.name}"]) for field in fields(Metric)})
    d = len(metric.shift)
    fits = len(metric.factor) in (0, d) and len(metric.matrix) in (0, d * d) and len(metric.knots) % d == 0
    if not fits or (np.diff(metric.knots.reshape(d, -1), axis=1) < 0).any():
        raise ModelFileError(
            f"{file.path}: the metric is damaged; restore the file from a copy or save the model again"
        )
    return metric


def _shaped(flat: NDArray[Any], spec: ArraySpec, sizes: dict[str, int]) -> NDArray[Any]:
    if len(spec.shape) == 1:
        return flat
    columns = sizes[str(spec.shape[1])]
    return flat.reshape(-1, columns)
