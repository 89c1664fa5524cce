"""Judging learners on streams: runs, measures, comparisons.

Examples
--------
>>> from anystream.drift import DynamicWeightedMajority
>>> from anystream.evaluate import prequential
>>> from anystream.streams import MovingGaussians
>>> stream = MovingGaussians(concepts=("plain", "swapped"), drifts=(1000,), seed=3, n_records=2000)
>>> run = prequential(DynamicWeightedMajority(), stream, window=100)
>>> found = run.recoveries()[0]
>>> found.depth > 0.2, found.recovered
(True, True)
"""

from anystream.evaluate.comparison import Comparison, compare, mean_and_standard_error
from anystream.evaluate.interleaved import interleaved, interleaved_drifts
from anystream.evaluate.measures import accuracy, kappa, kappa_m, kappa_t, windowed_accuracy
from anystream.evaluate.prequential import prequential
from anystream.evaluate.recovery import Recovery, recovery
from anystream.evaluate.run import Run
from anystream.evaluate.significance import RankComparison, compare_ranks

__all__ = [
    "Comparison",
    "RankComparison",
    "Recovery",
    "Run",
    "accuracy",
    "compare",
    "compare_ranks",
    "interleaved",
    "interleaved_drifts",
    "kappa",
    "kappa_m",
    "kappa_t",
    "mean_and_standard_error",
    "prequential",
    "recovery",
    "windowed_accuracy",
]
