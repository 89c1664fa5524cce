"""Content of the model file of a Bayes tree classifier: recipe, metric, first look and forest."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream._native import BayesForest, ModelFileError
from anystream.bayes_tree.first_look import FirstLook
from anystream.bayes_tree.metric import Metric
from anystream.bayes_tree.paging import lay_out_in_pages
from anystream.bayes_tree.recipe import ForestRecipe
from anystream.estimators.calibration import Calibration
from anystream.estimators.calibration_file import dump_calibration, read_calibration
from anystream.estimators.saving import ModelState
from anystream.model_file import ArraySpec, ModelFile, check_arrays, require_metadata
from anystream.model_file.errors import RESTORE

_TINY = float(np.finfo(np.float64).tiny)

FOREST_ARRAYS = {
    "points": ArraySpec("float64", ("records", "d")),
    "point_class": ArraySpec("int32", ("records",)),
    "shift": ArraySpec("float64", ("d",), finite=True),
    "scale": ArraySpec("float64", ("d",), low=_TINY, finite=True),
    "observed": ArraySpec("float64", ("d",), low=0, high="records"),
    "mean": ArraySpec("float64", ("d",), finite=True),
    "scatter": ArraySpec("float64", ("d",), low=0, finite=True),
    "low": ArraySpec("float64", ("d",)),
    "high": ArraySpec("float64", ("d",)),
    "spread": ArraySpec("float64", ("d",), low=_TINY, finite=True),
    "class_count": ArraySpec("int64", ("classes",), low=0, high="records"),
    "class_observed": ArraySpec("float64", ("classes", "d"), low=0, high="records"),
    "class_mean": ArraySpec("float64", ("classes", "d"), finite=True),
    "class_scatter": ArraySpec("float64", ("classes", "d"), low=0, finite=True),
    "class_low": ArraySpec("float64", ("ranges", "d")),
    "class_high": ArraySpec("float64", ("ranges", "d")),
    "class_root": ArraySpec("int32", ("classes",)),
    "kernel_precision": ArraySpec("float32", ("kernels", "d"), low=_TINY, finite=True),
    "kernel_log2_norm": ArraySpec("float32", ("kernels",), finite=True),
    "root_blob": ArraySpec("float32", ("root_floats",)),
    "blob": ArraySpec("float32", ("floats",)),
    "head": ArraySpec("uint64", ("nodes",)),
    "node_class": ArraySpec("int32", ("nodes",)),
    "node_count": ArraySpec("int64", ("nodes",)),
    "node_mean": ArraySpec("float64", ("nodes", "d")),
    "node_scatter": ArraySpec("float64", ("nodes", "d")),
    "node_box": ArraySpec("float32", ("box_floats",)),
    "assembled_at": ArraySpec("int64", (1,), low=0),
    "learned": ArraySpec("int64", (2,), low=0),
    "refreshed": ArraySpec("int64", (2,), low=0),
    "free_runs": ArraySpec("int64", ("run_sizes",), low=-1),
    "node_covariance": ArraySpec("int32", ("nodes",)),
    "covariance_count": ArraySpec("int64", ("covariances",), low=0),
    "covariance_order": ArraySpec("int32", ("covariances", "d")),
    "covariance_first": ArraySpec("int32", ("covariance_panels",)),
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
"""Arrays of a forest. Shapes are checked for all of them, values for the small ones only: the large ones are read only
where a query visits them. Native code checks the positions of all nodes at once, every child before it is visited, and
everything before the forest learns."""

METRIC_ARRAYS = {
    "metric_shift": ArraySpec("float64", ("d",), finite=True),
    "metric_knots": ArraySpec("float64", ("metric_knots",), finite=True),
    "metric_levels": ArraySpec("float64", ("metric_knots",), finite=True),
    "metric_factor": ArraySpec("float64", ("metric_factors",), finite=True),
    "metric_matrix": ArraySpec("float64", ("metric_products",), finite=True),
}
"""Arrays of a metric; a model without one has none of them."""


LOOK_ARRAYS = {
    "first_look_shift": ArraySpec("float64", ("d",), finite=True),
    "first_look_factor": ArraySpec("float64", ("d",), finite=True),
    "first_look_square_mean": ArraySpec("float32", ("d",), finite=True),
    "first_look_weight": ArraySpec("float32", ("terms", "look_classes"), finite=True),
    "first_look_bias": ArraySpec("float32", ("look_classes",), finite=True),
}
"""Arrays of a first look; a model without one has none of them. A class that appeared later is not among its own."""

_LOOK = "first_look"


class SavedForest(NamedTuple):
    """What a model file stores beside its head."""

    recipe: ForestRecipe
    metric: Metric | None
    calibration: Calibration | None
    first_look: FirstLook | None
    forest: BayesForest


def dump_forest(saved: SavedForest, page_bytes: int | None = None) -> ModelState:
    """Return the metadata and arrays from which `read_forest` restores the forest; its nodes in pages if asked."""
    recipe, metric, calibration, look, forest = saved
    sizes = {"d": forest.dimensions, "classes": forest.classes}
    flat = forest.arrays()
    if page_bytes is not None:
        flat |= lay_out_in_pages(forest, flat, page_bytes)
    arrays = {name: _reshape(flat[name], spec, sizes) for name, spec in FOREST_ARRAYS.items()}
    if metric is not None:
        arrays |= {f"metric_{field.name}": getattr(metric, field.name) for field in fields(Metric)}
    metadata = {"recipe": recipe.to_json()} | dump_calibration(calibration)
    if look is not None:
        arrays |= {name: getattr(look, name.removeprefix(f"{_LOOK}_")) for name in LOOK_ARRAYS}
        metadata |= {_LOOK: {"sharpness": look.sharpness, "floor": look.floor}}
    return ModelState(metadata, arrays)


def read_forest(file: ModelFile, n_features: int, n_classes: int, *, mapped: bool) -> SavedForest:
    """Return the forest of a file; ModelFileError, with the path, if anything in it is invalid.

    Parameters
    ----------
    file : ModelFile
        Where to read.
    n_features, n_classes : int
        Sizes that the head of the file states.
    mapped : bool
        Whether the arrays lie in a memory-mapped file; the large ones are then checked where they are visited.
    """
    recipe = _read_recipe(file, n_features)
    specs = FOREST_ARRAYS if recipe.metric is None else FOREST_ARRAYS | METRIC_ARRAYS
    if _LOOK in file.metadata:
        specs = specs | LOOK_ARRAYS
    arrays, _ = check_arrays(file, specs, {"d": n_features, "classes": n_classes})
    metric = None if recipe.metric is None else _read_metric(file, arrays)
    flat = {name: arrays[name].reshape(-1) for name in FOREST_ARRAYS}
    try:
        forest = BayesForest.from_arrays(recipe.forest_settings(), n_features, flat, whole=not mapped)
    except ModelFileError as error:
        raise ModelFileError(f"{file.path}: {error}") from None
    look = _read_look(file, arrays) if _LOOK in file.metadata else None
    return SavedForest(recipe, metric, read_calibration(file), look, forest)


def _read_recipe(file: ModelFile, n_features: int) -> ForestRecipe:
    stored = require_metadata(file, "recipe", dict)
    try:
        return ForestRecipe.from_json(stored, n_features)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{file.path}: the recipe is invalid: {error}; {RESTORE}") from None


def _read_metric(file: ModelFile, arrays: dict[str, NDArray[Any]]) -> Metric:
    metric = Metric(**{field.name: np.array(arrays[f"metric_{field.name}"]) for field in fields(Metric)})
    d = len(metric.shift)
    fits = len(metric.factor) in (0, d) and len(metric.matrix) in (0, d * d) and len(metric.knots) % d == 0
    if not fits or (np.diff(metric.knots.reshape(d, -1), axis=1) < 0).any():
        raise ModelFileError(f"{file.path}: the arrays of the metric do not fit each other; {RESTORE}")
    return metric


def _read_look(file: ModelFile, arrays: dict[str, NDArray[Any]]) -> FirstLook:
    calibration = require_metadata(file, _LOOK, dict)
    try:
        found = FirstLook(
            **{name.removeprefix(f"{_LOOK}_"): np.array(arrays[name]) for name in LOOK_ARRAYS},
            sharpness=float(calibration["sharpness"]),
            floor=float(calibration["floor"]),
        )
        _ = found.native  # native code checks sizes and ranges
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"{file.path}: the first look is invalid: {error}; {RESTORE}") from None
    return found


def _reshape(flat: NDArray[Any], spec: ArraySpec, sizes: dict[str, int]) -> NDArray[Any]:
    return flat if len(spec.shape) == 1 else flat.reshape(-1, sizes[str(spec.shape[1])])
