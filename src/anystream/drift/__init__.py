"""Classifiers for streams that change: rivals of KAOGINC, Wang's weighting for any classifier, drift detectors.

Examples
--------
>>> from anystream.drift import DynamicWeightedMajority
>>> from anystream.streams import Sine
>>> stream = Sine(concepts=("sine1", "sine1_reversed"), drifts=(500,), seed=1)
>>> model = DynamicWeightedMajority().fit(*stream.take(1000))
>>> model.score(*stream.take(500, start=1000)) > 0.8
True
"""

from anystream.drift.detector import DriftDetector, river_detector
from anystream.drift.dynamic_weighted_majority import DynamicWeightedMajority
from anystream.drift.gaussian_naive_bayes import GaussianNaiveBayes
from anystream.drift.online_tree import OnlineTree2
from anystream.drift.reset_on_drift import ResetOnDrift
from anystream.drift.sea import SEAEnsemble
from anystream.drift.wcea import WCEA

__all__ = [
    "WCEA",
    "DriftDetector",
    "DynamicWeightedMajority",
    "GaussianNaiveBayes",
    "OnlineTree2",
    "ResetOnDrift",
    "SEAEnsemble",
    "river_detector",
]
