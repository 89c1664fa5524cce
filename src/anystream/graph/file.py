"""Classifiers on graphs as metadata and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.file_head import head_to_json, model_with_head
from anystream.graph.change import MEMORY, Balance
from anystream.graph.components import Components
from anystream.graph.metric import Metric
from anystream.graph.principal import PrincipalGraph
from anystream.graph.views import Choice
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays, require_metadata

if TYPE_CHECKING:
    from anystream.graph.kaog import KAOGClassifier
    from anystream.graph.kaoginc import KAOGINCClassifier

Static = TypeVar("Static", bound="KAOGClassifier")
Incremental = TypeVar("Incremental", bound="KAOGINCClassifier")
Model = TypeVar("Model", "KAOGClassifier", "KAOGINCClassifier")

_TINY = float(np.finfo(np.float64).tiny)
_LARGEST = 2**62
_COMPONENTS = {
    "points": ArraySpec("float64", ("vertices", "d")),
    "owner": ArraySpec("int32", ("vertices",), low=0, high="components-1"),
    "k": ArraySpec("int32", ("components",), low=1),
    "purity": ArraySpec("float64", ("components",), low=_TINY, high=1.0),
    "label": ArraySpec("int32", ("components",), low=0, high="classes-1"),
    "born": ArraySpec("int64", ("components",), low=0, high=_LARGEST, sorted=True),
    "last_used": ArraySpec("int64", ("components",), low=0, high=_LARGEST),
    "transferred": ArraySpec("bool", ("components",)),
}
_LEARNING = {
    "open_points": ArraySpec("float64", ("open", "d")),
    "open_labels": ArraySpec("int32", ("open",), low=0, high="classes-1"),
    "metric_count": ArraySpec("float64", ("d",), low=0.0, finite=True),
    "metric_total": ArraySpec("float64", ("d",), finite=True),
    "metric_squares": ArraySpec("float64", ("d",), low=0.0, finite=True),
    "metric_origin": ArraySpec("float64", ("d",)),
    "metric_relief": ArraySpec("float64", ("d",), finite=True),
    "view_errors": ArraySpec("float64", ("views",), low=0.0, finite=True),
    "recent_errors": ArraySpec("float64", ("recent",), low=0.0, high=1.0),
    "balances": ArraySpec("float64", (2, 2), finite=True),
    "learned": ArraySpec("int64", (2,), low=0, high=_LARGEST),
}


def kaog_to_file(model: KAOGClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `kaog_from_file` needs to make the model again."""
    return head_to_json(model), _component_arrays(model.components_)


def kaog_from_file(cls: type[Static], file: ModelFile) -> Static:
    """The static model of a file, every value checked before it is used."""
    model = _begun(cls, file)
    arrays, _ = check_arrays(file, _COMPONENTS, {"d": model.n_features_in_, "classes": len(model.classes_)})
    model.components_ = _components(file, arrays)
    model.graph_ = _graph_of(model, file)
    return model


def kaoginc_to_file(model: KAOGINCClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `kaoginc_from_file` needs to make the model again."""
    graph = model.principal_
    balances = [[b.lost, b.disagreements] for b in (graph.transferred, graph.older)]
    arrays = _component_arrays(graph.components) | {
        "open_points": model.open_points_,
        "open_labels": model.open_labels_,
        **{f"metric_{name}": getattr(graph.metric, name) for name in Metric.__slots__},
        "view_errors": graph.choice.errors,
        "recent_errors": np.array(graph.recent, dtype=np.float64),
        "balances": np.array(balances),
        "learned": np.array([graph.n_batches, graph.n_records], dtype=np.int64),
    }
    return head_to_json(model), arrays


def kaoginc_from_file(cls: type[Incremental], file: ModelFile) -> Incremental:
    """The incremental model of a file, every value checked before it is used."""
    model = _begun(cls, file)
    settings = model._settings()
    known = {"d": model.n_features_in_, "classes": len(model.classes_), "views": len(settings.views)}
    arrays, sizes = check_arrays(file, _COMPONENTS | _LEARNING, known)
    if sizes["open"] >= model.batch_size or sizes["recent"] > MEMORY or sizes["vertices"] > settings.max_vertices:
        raise ModelFileError(f"{file.path}: holds more records than its parameters allow; save the model again")
    if sizes["open"] + sizes["vertices"] == 0:
        raise ModelFileError(f"{file.path}: holds no records; save the model again")
    if not _plausible(arrays["open_points"]):
        raise ModelFileError(f"{file.path}: a record holds an infinite value; save the model again")
    transferred, older = (Balance(lost, disagreements) for lost, disagreements in arrays["balances"].tolist())
    n_batches, n_records = arrays["learned"].tolist()
    model.principal_ = PrincipalGraph(
        _components(file, arrays, allow_none=True),
        Metric(*(np.array(arrays[f"metric_{name}"]) for name in Metric.__slots__)),
        Choice(settings.views, np.array(arrays["view_errors"])),
        tuple(arrays["recent_errors"].tolist()),
        transferred,
        older,
        n_batches,
        n_records,
    )
    model.open_points_ = np.array(arrays["open_points"])
    model.open_labels_ = np.array(arrays["open_labels"])
    model.graph_ = _graph_of(model, file)
    return model


def _component_arrays(components: Components) -> dict[str, NDArray[Any]]:
    return {name: np.ascontiguousarray(getattr(components, name)) for name in Components.__slots__}


def _begun(cls: type[Model], file: ModelFile) -> Model:
    given = require_metadata(file, "parameters", dict)
    return model_with_head(cls, file, {n: tuple(v) if isinstance(v, list) else v for n, v in given.items()})


def _components(file: ModelFile, arrays: dict[str, NDArray[Any]], *, allow_none: bool = False) -> Components:
    components = Components(*(np.array(arrays[name]) for name in Components.__slots__))
    if not _plausible(components.points):
        raise ModelFileError(f"{file.path}: a vertex holds an infinite value; save the model again")
    if (components.sizes == 0).any() or not (len(components) or allow_none):
        raise ModelFileError(f"{file.path}: a component has no vertices; save the model again")
    return components


def _graph_of(model: Any, file: ModelFile) -> Any:
    try:
        return model._make_graph()
    except ValueError as error:  # sums that no records have, such as a spread beyond all numbers
        raise ModelFileError(f"{file.path}: {error}; restore the file from a copy or save the model again") from None


def _plausible(points: NDArray[np.float64]) -> bool:
    return not bool(np.isinf(points).any())
