"""Classify every record of a stream by its deadline: an answer at once, a better one with every microsecond left.

The names below are imported on first use, so that importing anystream stays quick; ``__init__.pyi`` lists them for type
checkers.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "AnytimeCurve",
    "AnytimeForestClassifier",
    "AnytimeNeighborsClassifier",
    "AnytimePipeline",
    "BayesTreeClassifier",
    "Budget",
    "KAOGClassifier",
    "KAOGINCClassifier",
    "LocustClassifier",
    "MicroClusterClassifier",
    "ModelFileError",
    "PerformanceProfile",
    "Query",
    "StopToken",
    "anytime_curve",
    "check_anytime_classifier",
    "load",
    "performance_profile",
]
_MODULES = {
    "AnytimePipeline": "anystream.estimators.pipeline",
    "ModelFileError": "anystream.model_file",
    "load": "anystream.models",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'anystream' has no attribute {name!r}")
    value = getattr(import_module(_module_of(name)), name)
    globals()[name] = value
    return value


def _module_of(name: str) -> str:
    """Return the module that defines a public name: a classifier's package, or the contract."""
    if name in _MODULES:
        return _MODULES[name]
    models = import_module("anystream.models").MODELS.values()
    return next((entry.package for entry in models if entry.class_name == name), "anystream.anytime")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
