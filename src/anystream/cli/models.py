"""Models by their kind and by settings such as ``--set fanout=8``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from anystream.models import MODELS

if TYPE_CHECKING:
    from anystream.connectors.schema import Schema

PUBLISHED = {
    "bt-star": ("bayes-tree", "bt_star"),
    "published-locust": ("locust", "paper"),
    "published-kaoginc": ("kaoginc", "paper"),
    "published-sea": ("sea-ensemble", "street_kim"),
}
"""Algorithms as their papers print them: the kind, and the method that returns one."""

MAIN_KINDS = tuple(entry.kind for entry in MODELS.values() if entry.main)
"""Kinds of model that serve best."""

OTHER_KINDS = (*PUBLISHED, *(entry.kind for entry in MODELS.values() if not entry.main))
"""Models for comparison, which ``anystream fit`` offers as well."""


def make_model(name: str, settings: Sequence[str]) -> Any:
    """Return a classifier that is not fitted yet.

    Parameters
    ----------
    name : str
        One of `MAIN_KINDS` and `OTHER_KINDS`.
    settings : sequence of str
        Parameters as ``name=value``; a value is a Python literal such as a number, True or None, otherwise text.
    """
    if name not in MAIN_KINDS + OTHER_KINDS:
        raise ValueError(
            f"there is no model {name!r}; choose one of {', '.join(MAIN_KINDS)}, or, for comparison, of "
            f"{', '.join(OTHER_KINDS)}"
        )
    kind, method = PUBLISHED.get(name, (name, None))
    model_class = MODELS[kind].load_class()
    create = model_class if method is None else getattr(model_class, method)
    known = create().get_params(deep=False)
    values = dict(_parse_setting(setting) for setting in settings)
    for parameter in values:
        if parameter not in known:
            raise ValueError(f"{name} has no parameter {parameter!r}; it has {', '.join(known)}")
    return create(**values)


def compare_categories(estimator: Any, schema: Schema | None) -> bool:
    """Return whether a model compares categories as such; with a schema, tell the model which features they are."""
    parameters = estimator.get_params()
    if "categorical" in parameters:  # LOCUST
        if parameters["categorical"] is not None:
            return False  # the user has coded them
        if schema is not None and schema.coded_features:
            estimator.set_params(categorical=schema.coded_features)
        return True
    if parameters.get("metric") != "gower":
        return False
    given = parameters["metric_params"] or {}
    if schema is not None and schema.coded_features and "categorical" not in given:
        estimator.set_params(metric_params=given | {"categorical": schema.coded_features})
    return "categorical" not in given or schema is not None


def _parse_setting(setting: str) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals or not name.strip():
        raise ValueError(f"--set is {setting!r}; write name=value, such as --set fanout=8")
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        value = text.strip()
    return name.strip(), value
