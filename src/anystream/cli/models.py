"""Models by their kind and by settings such as ``--set fanout=8``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any

from anystream.models import MODELS

MAIN_KINDS = tuple(entry.kind for entry in MODELS.values() if entry.main)
"""Kinds of model that ``anystream fit`` offers."""


def make_model(kind: str, settings: Sequence[str]) -> Any:
    """Return a classifier that is not fitted yet.

    Parameters
    ----------
    kind : str
        One of `MAIN_KINDS`.
    settings : sequence of str
        Parameters as ``name=value``; a value is a Python literal such as a number, True or None, otherwise text.
    """
    if kind not in MAIN_KINDS:
        raise ValueError(f"there is no model {kind!r}; choose one of {', '.join(MAIN_KINDS)}")
    model_class = MODELS[kind].load_class()
    known = inspect.signature(model_class).parameters
    values = dict(_parse_setting(setting) for setting in settings)
    for parameter in values:
        if parameter not in known:
            raise ValueError(f"{kind} has no parameter {parameter!r}; it has {', '.join(known)}")
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
