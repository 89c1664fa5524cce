from anystream.anytime import (
    Answer,
    AnytimeCurve,
    Budget,
    PerformanceProfile,
    Query,
    StopToken,
    anytime_curve,
    check_anytime_classifier,
    performance_profile,
)
from anystream.bayes_tree import BayesTreeClassifier
from anystream.estimators.pipeline import AnytimePipeline
from anystream.forest import AnytimeForestClassifier
from anystream.graph import KAOGClassifier, KAOGINCClassifier
from anystream.microclusters import MicroClusterClassifier
from anystream.model_file import ModelFileError
from anystream.models import load
from anystream.neighbors import AnytimeNeighborsClassifier
from anystream.subspace import LocustClassifier

__version__: str
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
