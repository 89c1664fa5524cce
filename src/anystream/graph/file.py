"""Arrays of graphs in model files: writing, and reading with every value checked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.graph.batch import Batch
from anystream.graph.change import MAX_RECENT_ERRORS, Balance
from anystream.graph.components import Components
from anystream.graph.metric import Metric
from anystream.graph.principal import PrincipalGraph
from anystream.graph.probability_test import SHAPE, ProbabilityTest
from anystream.graph.recipe import StreamRecipe
from anystream.graph.views import ViewSelection
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays

_MAX_NUMBER = 2**62
_COMPONENT_SPECS = {
    "points": ArraySpec("float64", ("vertices", "d")),
    "owner": ArraySpec("int32", ("vertices",), low=0, high="components-1"),
    "k": ArraySpec("int32", ("components",), low=1),
    "purity": ArraySpec("float64", ("components",), low=sys.float_info.min, high=1.0),
    "label": ArraySpec("int32", ("components",), low=0, high="classes-1"),
    "batch_number": ArraySpec("int64", ("components",), low=0, high=_MAX_NUMBER, sorted=True),
    "last_used": ArraySpec("int64", ("components",), low=0, high=_MAX_NUMBER),
    "transferred": ArraySpec("bool", ("components",)),
}
_STREAM_SPECS = {
    "open_points": ArraySpec("float64", ("open", "d")),
    "open_labels": ArraySpec("int32", ("open",), low=0, high="classes-1"),
    "metric_count": ArraySpec("float64", ("d",), low=0.0, finite=True),
    "metric_total": ArraySpec("float64", ("d",), finite=True),
    "metric_squares": ArraySpec("float64", ("d",), low=0.0, finite=True),
    "metric_origin": ArraySpec("float64", ("d",)),
    "metric_relief": ArraySpec("float64", ("d",), finite=True),
    "view_errors": ArraySpec("float64", ("views",), low=0.0, finite=True),
    "candidate_losses": ArraySpec("float64", SHAPE, low=0.0, finite=True),
    "recent_errors": ArraySpec("float64", ("recent",), low=0.0, high=1.0),
    "balances": ArraySpec("float64", (2, 2), finite=True),
    "counted": ArraySpec("int64", (3,), low=0, high=_MAX_NUMBER),
}


def dump_components(components: Components) -> dict[str, NDArray[Any]]:
    """Return the arrays from which `read_components` restores components."""
    return {name: np.ascontiguousarray(getattr(components, name)) for name in Components.__slots__}


def read_components(file: ModelFile, n_features: int, n_classes: int) -> Components:
    """Return the components in a file; there is at least one."""
    arrays, sizes = check_arrays(file, _COMPONENT_SPECS, {"d": n_features, "classes": n_classes})
    if sizes["components"] == 0:
        raise ModelFileError(f"{file.path}: has no components; save the model again")
    return _restore_components(file, arrays)


def dump_stream(principal: PrincipalGraph, open_batch: Batch) -> dict[str, NDArray[Any]]:
    """Return the arrays from which `read_stream` restores a principal graph and an open batch."""
    balances = [[b.advantage, b.disagreements] for b in (principal.transferred, principal.older)]
    return dump_components(principal.components) | {
        "open_points": open_batch.points,
        "open_labels": open_batch.labels,
        **{f"metric_{name}": getattr(principal.metric, name) for name in Metric.__slots__},
        "view_errors": principal.selection.errors,
        "candidate_losses": principal.probabilities.losses,
        "recent_errors": np.array(principal.recent_errors, dtype=np.float64),
        "balances": np.array(balances),
        "counted": np.array([principal.n_batches, principal.n_records, principal.n_classified], dtype=np.int64),
    }


def read_stream(file: ModelFile, n_features: int, n_classes: int, recipe: StreamRecipe) -> tuple[PrincipalGraph, Batch]:
    """Return the principal graph and the open batch in a file."""
    known = {"d": n_features, "classes": n_classes, "views": len(recipe.views)}
    arrays, sizes = check_arrays(file, _COMPONENT_SPECS | _STREAM_SPECS, known)
    if (
        sizes["open"] >= recipe.batch_size
        or sizes["recent"] > MAX_RECENT_ERRORS
        or sizes["vertices"] > recipe.max_vertices
    ):
        raise ModelFileError(f"{file.path}: holds more records than its parameters allow; save the model again")
    if sizes["open"] + sizes["vertices"] == 0:
        raise ModelFileError(f"{file.path}: holds no records; save the model again")
    if np.isinf(arrays["open_points"]).any():
        raise ModelFileError(f"{file.path}: a record holds an infinite value; save the model again")
    transferred, older = (Balance(advantage, disagreements) for advantage, disagreements in arrays["balances"].tolist())
    principal = PrincipalGraph(
        _restore_components(file, arrays),
        Metric(*(np.array(arrays[f"metric_{name}"]) for name in Metric.__slots__)),
        ViewSelection(recipe.views, np.array(arrays["view_errors"])),
        ProbabilityTest(np.array(arrays["candidate_losses"])),
        tuple(arrays["recent_errors"].tolist()),
        transferred,
        older,
        *arrays["counted"].tolist(),
    )
    return principal, Batch(np.array(arrays["open_points"]), np.array(arrays["open_labels"]), n_classes)


@contextmanager
def name_damaged_file(file: ModelFile) -> Iterator[None]:
    """Turn a ValueError of the block, which builds a graph from a file, into a ModelFileError that names the file."""
    try:
        yield
    except ValueError as error:  # sums that no records can have, such as a spread beyond the range of float64
        raise ModelFileError(f"{file.path}: {error}; restore the file from a copy or save the model again") from None


def _restore_components(file: ModelFile, arrays: dict[str, NDArray[Any]]) -> Components:
    components = Components(*(np.array(arrays[name]) for name in Components.__slots__))
    if np.isinf(components.points).any():
        raise ModelFileError(f"{file.path}: a vertex holds an infinite value; save the model again")
    if (components.sizes == 0).any():
        raise ModelFileError(f"{file.path}: a component has no vertices; save the model again")
    return components
