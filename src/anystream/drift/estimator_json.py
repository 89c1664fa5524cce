"""The parameter `estimator` of ensembles as JSON: the kind of classifier and its parameters, no code."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from sklearn.tree import DecisionTreeClassifier

from anystream.estimators.saving import SaveableMixin, find_class, is_saveable

TREE_KIND = "scikit-learn-tree"
_REMEDY = "pickle the model instead, or use classifiers of anystream or scikit-learn's DecisionTreeClassifier"


def ensemble_parameters_to_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constructor parameters of an ensemble as JSON values; TypeError if a file cannot store one."""
    return {
        name: _estimator_to_json(value) if name == "estimator" and value is not None else _value_to_json(name, value)
        for name, value in parameters.items()
    }


def ensemble_parameters_from_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constructor parameters of an ensemble from JSON values; TypeError or ValueError if one is invalid."""
    return {
        name: _estimator_from_json(value) if name == "estimator" and value is not None else value
        for name, value in parameters.items()
    }


def _estimator_to_json(estimator: Any) -> dict[str, Any]:
    if type(estimator) is DecisionTreeClassifier:
        parameters = estimator.get_params(deep=False)
        return {
            "kind": TREE_KIND,
            "parameters": {name: _value_to_json(name, value) for name, value in parameters.items()},
        }
    if isinstance(estimator, SaveableMixin) and is_saveable(estimator):
        return {"kind": estimator.kind, "parameters": estimator.parameters_to_json()}
    raise TypeError(
        f"a model file stores no code and therefore no {type(estimator).__name__}, which is the estimator; {_REMEDY}"
    )


def _estimator_from_json(value: Any) -> Any:
    if not isinstance(value, dict):
        raise TypeError(f"estimator is {value!r}, which is not a scikit-learn estimator")
    kind, parameters = value.get("kind"), value.get("parameters")
    if not isinstance(parameters, dict):
        raise TypeError("the estimator has no parameters")
    if kind == TREE_KIND:
        tree = DecisionTreeClassifier(**parameters)
        tree._validate_params()
        return tree
    found: Any = find_class(kind) if isinstance(kind, str) else None
    if found is None:
        raise TypeError(f"the estimator is of kind {kind!r}, which this anystream cannot read; upgrade")
    estimator = found(**found.parameters_from_json(parameters))
    estimator.check_parameters()
    return estimator


def _value_to_json(name: str, value: Any) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"{name} is {value!r}, which a model file cannot store; {_REMEDY}")
