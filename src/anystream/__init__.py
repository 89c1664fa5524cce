"""Classify every record of a stream by its deadline: an answer at once, a better one with every microsecond left.

The names below are loaded when they are first used, so that importing anystream stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anystream._native import StopToken
    from anystream.anytime.answer import Answer
    from anystream.anytime.budget import Budget
    from anystream.anytime.checks import check_anytime_classifier
    from anystream.anytime.curve import AnytimeCurve, anytime_curve
    from anystream.anytime.profile import PerformanceProfile, performance_profile
    from anystream.anytime.query import Query
    from anystream.bayes_tree.classifier import BayesTreeClassifier
    from anystream.graph import KAOGClassifier, KAOGINCClassifier
    from anystream.microclusters import MicroClusterClassifier
    from anystream.model_file import ModelFileError
    from anystream.neighbors import AnytimeNeighborsClassifier
    from anystream.saved_models import load
    from anystream.subspace import LocustClassifier

_HOME = {
    "Answer": "anystream.anytime.answer",
    "AnytimeCurve": "anystream.anytime.curve",
    "AnytimeNeighborsClassifier": "anystream.neighbors",
    "BayesTreeClassifier": "anystream.bayes_tree.classifier",
    "Budget": "anystream.anytime.budget",
    "KAOGClassifier": "anystream.graph",
    "KAOGINCClassifier": "anystream.graph",
    "LocustClassifier": "anystream.subspace",
    "MicroClusterClassifier": "anystream.microclusters",
    "ModelFileError": "anystream.model_file",
    "PerformanceProfile": "anystream.anytime.profile",
    "Query": "anystream.anytime.query",
    "StopToken": "anystream._native",
    "anytime_curve": "anystream.anytime.curve",
    "check_anytime_classifier": "anystream.anytime.checks",
    "load": "anystream.saved_models",
    "performance_profile": "anystream.anytime.profile",
}

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "AnytimeCurve",
    "AnytimeNeighborsClassifier",
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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'anystream' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
