"""Tree ensembles of other frameworks: imported into one form, and classified node by node, as exactly as wanted.

The classifier is imported on first use: reading a model file needs no scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from anystream.forest.ensemble import TreeEnsemble
from anystream.forest.import_model import import_model
from anystream.forest.link import Link
from anystream.forest.read_ensemble import read_ensemble

if TYPE_CHECKING:
    from anystream.forest.classifier import AnytimeForestClassifier

__all__ = ["AnytimeForestClassifier", "Link", "TreeEnsemble", "import_model", "read_ensemble"]


def __getattr__(name: str) -> Any:
    if name != "AnytimeForestClassifier":
        raise AttributeError(f"module 'anystream.forest' has no attribute {name!r}")
    value = import_module("anystream.forest.classifier").AnytimeForestClassifier
    globals()[name] = value
    return value
