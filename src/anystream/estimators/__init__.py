"""Templates for writing classifiers: fitting, learning, saving and merging above the anytime contract."""

from anystream.estimators.classifier import IncrementalClassifier, TrainedClassifier
from anystream.estimators.merging import MergeableMixin
from anystream.estimators.saving import ModelState, SaveableMixin
from anystream.estimators.stepwise import StepwiseClassifier

__all__ = [
    "IncrementalClassifier",
    "MergeableMixin",
    "ModelState",
    "SaveableMixin",
    "StepwiseClassifier",
    "TrainedClassifier",
]
