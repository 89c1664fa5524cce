"""Gaussian naive Bayes that learns record by record, with usable variances from the first record on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anystream.drift.drift_classifier import DriftClassifier
from anystream.drift.gaussian_moments import GaussianMoments
from anystream.estimators.merging import MergeableMixin
from anystream.estimators.parameters import check_positive
from anystream.estimators.saving import ModelState, SaveableMixin
from anystream.model_file import ModelFile


class GaussianNaiveBayes(MergeableMixin, SaveableMixin, DriftClassifier):
    """Naive Bayes with one Gaussian per class and feature, learned record by record.

    Unlike scikit-learn's, it accepts single records and new classes at any time, and its variances are usable from the
    first record on: the variance of all records contributes to that of every class.

    Parameters
    ----------
    smoothing : float, default=0.5
        Weight, in records, of the overall variance V_j in the variance of every class, which has n_cj values of
        feature j: v_cj = (S_cj + smoothing V_j) / (n_cj + smoothing), S_cj the sum of squares about the mean.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels. New ones are appended.
    n_features_in_ : int
        Features of a record.
    moments_ : GaussianMoments
        Counts, means and scatters of the classes.

    Notes
    -----
    Missing values (NaN) are ignored, in learning and in classifying. So is a feature that never varied.

    Examples
    --------
    >>> model = GaussianNaiveBayes().partial_fit([[0.0], [4.0]], ["left", "right"])
    >>> model.predict([[1.0], [2.5]])
    array(['left', 'right'], dtype='<U5')
    >>> model.partial_fit([[8.0]], ["far right"]).predict([[7.0]])
    array(['far right'], dtype='<U9')
    """

    kind: ClassVar[str] = "naive-bayes"
    file_version: ClassVar[int] = 2
    copies_mapped_files: ClassVar[bool] = True

    def __init__(self, *, smoothing: float = 0.5) -> None:
        self.smoothing = smoothing

    def check_parameters(self) -> None:
        """Check the smoothing."""
        check_positive("smoothing", self.smoothing)

    def reset(self, n_features: int) -> None:
        """Start without records."""
        self.moments_ = GaussianMoments(n_features, check_positive("smoothing", self.smoothing))

    def learn_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Add records to a copy of the moments of their classes."""
        moments = self.moments_.copy(n_classes, records.shape[1])
        moments.learn(records, numbers)
        self.moments_ = moments

    def merge_states(self, models: Sequence[Self], class_maps: Sequence[NDArray[np.int32]]) -> None:
        """Add up the moments of all models."""
        self.reset(self.n_features_in_)
        shape = len(self.classes_), self.n_features_in_
        self.moments_ = self.moments_.with_shape(*shape)
        for model, class_map in zip(models, class_maps, strict=True):
            self.moments_ += model.moments_.renumber(class_map).with_shape(*shape)

    def records_proba(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P(c | x)."""
        return self.moments_.proba(records, len(self.classes_))

    # -- saving ------------------------------------------------------------------------------------------------------

    def dump_state(self) -> ModelState:
        """Return the moments of all classes and features."""
        moments = self.moments_.with_shape(len(self.classes_), self.n_features_in_)
        return ModelState({}, dict(moments.arrays()))

    def restore_state(self, file: ModelFile, *, mapped: bool) -> None:
        """Restore the moments."""
        smoothing = check_positive("smoothing", self.smoothing)
        self.moments_ = GaussianMoments.from_file(
            file, smoothing, n_classes=len(self.classes_), n_features=self.n_features_in_
        )
