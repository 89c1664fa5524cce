"""Evaluation of classifiers on streams: runs, measures, comparisons.

Examples
--------
>>> from anystream.drift import DynamicWeightedMajority
>>> from anystream.evaluate import run_prequential
>>> from anystream.streams import MovingGaussians
>>> stream = MovingGaussians(concepts=("plain", "swapped"), drifts=(1000,), seed=3, n_records=2000)
>>> run = run_prequential(DynamicWeightedMajority(), stream, window=100)
>>> recovery = run.recoveries()[1000]  # from the drift at record 1000
>>> recovery.depth > 0.2, recovery.recovered
(True, True)
"""

from anystream.evaluate.comparison import Comparison, compare, mean_and_standard_error
from anystream.evaluate.interleaved import place_interleaved_drifts, run_interleaved
from anystream.evaluate.measures import accuracy, kappa, kappa_m, kappa_t, windowed_accuracy
from anystream.evaluate.prequential import run_prequential
from anystream.evaluate.recovery import Recovery, measure_recoveries, measure_recovery
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
    "kappa",
    "kappa_m",
    "kappa_t",
    "mean_and_standard_error",
    "measure_recoveries",
    "measure_recovery",
    "place_interleaved_drifts",
    "run_interleaved",
    "run_prequential",
    "windowed_accuracy",
]
