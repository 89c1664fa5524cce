"""Classifiers of this room as metadata and arrays. Members of ensembles are parts, each like a file of its own."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier

from anystream.anytime.file_head import head_to_json, model_with_head, parameters_of
from anystream.anytime.kinds import classifier_of, known_kinds
from anystream.model_file import ModelFile, ModelFileError, require_metadata

if TYPE_CHECKING:
    from anystream.drift.base import DriftClassifier

Model = TypeVar("Model", bound="DriftClassifier")

MOST_RECORDS = 2**62
"""What a file may say of how many records, chunks or members there were: room is left to count on."""
_HEAD = ("kind", "version", "metadata")  # of a part
_TREE = "scikit-learn-tree"
_REMEDY = "pickle the model instead, or use classifiers of anystream or scikit-learn's DecisionTreeClassifier"


def model_to_file(model: DriftClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `model_from_file` needs to make the model again."""
    head = head_to_json(model, _parameters_to_json(model))
    facts, arrays, parts = model._learned()
    heads = [{name: getattr(part, name) for name in _HEAD} for part in parts]
    named = {f"{place}.{name}": array for place, part in enumerate(parts) for name, array in part.arrays.items()}
    return head | {"learned": facts, "parts": heads}, arrays | named


def model_from_file(cls: type[Model], file: ModelFile, *, mapped: bool) -> Model:
    """The model of a file, every value checked before it is used."""
    with parameters_of(cls, file):
        parameters = _parameters_from_json(require_metadata(file, "parameters", dict))
        if not isinstance(parameters.get("estimator"), BaseEstimator | None):
            raise TypeError("the estimator is none")
    model = model_with_head(cls, file, parameters)
    model._begin(model.n_features_in_)
    own, parts = _split(file)
    model._recall(own, parts, mapped=mapped)
    return model


def holds(estimator: Any) -> bool:
    """Whether a model file can hold models of the kind of `estimator`."""
    kind = getattr(type(estimator), "kind", None)
    return kind in known_kinds() and classifier_of(kind) is type(estimator)


def _split(file: ModelFile) -> tuple[ModelFile, list[ModelFile]]:
    """What belongs to the model itself, and its parts."""
    heads = require_metadata(file, "parts", list)
    own, inside = {}, [dict[str, NDArray[Any]]() for _ in heads]
    for name, array in file.arrays.items():
        place, dot, short = name.partition(".")
        if not dot:
            own[name] = array
        elif place.isdecimal() and len(place) < 9 and int(place) < len(inside):
            inside[int(place)][short] = array
        else:
            raise ModelFileError(f"{file.path}: array {name!r} belongs to no part; save the model again")
    parts = []
    for head, arrays in zip(heads, inside, strict=True):
        kind, version, metadata = map(head.get, _HEAD) if isinstance(head, dict) else (None, None, None)
        if not (isinstance(kind, str) and type(version) is int and isinstance(metadata, dict)):
            raise ModelFileError(f"{file.path}: a part has no kind, version or metadata; save the model again")
        parts.append(ModelFile(file.path, kind, version, metadata, arrays))
    return ModelFile(file.path, file.kind, file.version, require_metadata(file, "learned", dict), own), parts


def _parameters_to_json(estimator: Any) -> dict[str, Any]:
    return {name: _to_json(name, value) for name, value in estimator.get_params(deep=False).items()}


def _to_json(name: str, value: Any) -> Any:
    if isinstance(value, BaseEstimator):
        if type(value) is DecisionTreeClassifier:
            kind = _TREE
        elif holds(value):
            kind = type(value).kind
        else:
            raise TypeError(f"a model file holds no code, and so no {type(value).__name__}, the {name}; {_REMEDY}")
        return {"kind": kind, "parameters": _parameters_to_json(value)}
    if isinstance(value, tuple):
        return [_to_json(name, item) for item in value]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"{name} is {value!r}, which a model file cannot hold; {_REMEDY}")


def _parameters_from_json(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: _from_json(value) for name, value in parameters.items()}


def _from_json(value: Any) -> Any:
    if isinstance(value, dict):
        if not isinstance(value.get("parameters"), dict):
            raise TypeError("an estimator has no parameters")
        cls = DecisionTreeClassifier if value["kind"] == _TREE else classifier_of(value["kind"])
        estimator = cls(**_parameters_from_json(value["parameters"]))
        if cls is DecisionTreeClassifier:
            estimator._validate_params()
        else:
            estimator._check_parameters()
        return estimator
    return tuple(map(_from_json, value)) if isinstance(value, list) else value
