"""The anytime contract: budgets, queries, answers, the base class of classifiers, and the checks of the contract."""

from anystream._native import StopToken
from anystream.anytime.answer import Answer, BatchResult
from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.checks import check_anytime_classifier, yield_anytime_checks
from anystream.anytime.classifier import AnytimeClassifier
from anystream.anytime.curve import AnytimeCurve, anytime_curve
from anystream.anytime.errors import RecordError
from anystream.anytime.profile import PerformanceProfile, performance_profile
from anystream.anytime.query import Query
from anystream.anytime.river import RiverMixin, RiverPredictMixin

__all__ = [
    "Answer",
    "AnytimeClassifier",
    "AnytimeCurve",
    "BatchResult",
    "Budget",
    "BudgetLike",
    "PerformanceProfile",
    "Query",
    "RecordError",
    "RiverMixin",
    "RiverPredictMixin",
    "StopToken",
    "anytime_curve",
    "check_anytime_classifier",
    "performance_profile",
    "yield_anytime_checks",
]
