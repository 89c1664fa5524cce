"""Models by the names they have on the command line."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import Any

MODELS: dict[str, tuple[str, str]] = {
    "bayes-tree": ("anystream.bayes_tree", "BayesTreeClassifier"),
    "kaog": ("anystream.graph", "KAOGClassifier"),
    "kaoginc": ("anystream.graph", "KAOGINCClassifier"),
    "locust": ("anystream.subspace", "LocustClassifier"),
    "micro-clusters": ("anystream.microclusters", "MicroClusterClassifier"),
    "neighbors": ("anystream.neighbors", "AnytimeNeighborsClassifier"),
}
"""Name on the command line -> room and class. A new room adds a line."""


def make_model(name: str, settings: Sequence[str]) -> Any:
    """A model that is not fitted yet.

    Parameters
    ----------
    name : str
        One of `MODELS`.
    settings : sequence of str
        Parameters as ``name=value``; a value is a number, True, False, None, or text.
    """
    if name not in MODELS:
        raise ValueError(f"there is no model {name!r}; choose one of {', '.join(sorted(MODELS))}")
    module, class_name = MODELS[name]
    model_class = getattr(import_module(module), class_name)
    known = inspect.signature(model_class).parameters
    values = dict(_parse_setting(setting) for setting in settings)
    for parameter in values:
        if parameter not in known:
            raise ValueError(f"{name} has no parameter {parameter!r}; it has {', '.join(known)}")
    return model_class(**values)


def _parse_setting(setting: str) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals or not name.strip():
        raise ValueError(f"--set is {setting!r}; write name=value, such as --set fanout=8")
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        value = text.strip()
    return name.strip(), value
