"""Gaussian naive Bayes that learns record by record and is sound from the first one on."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.anytime.merging import begin_merge
from anystream.anytime.parameters import positive_number
from anystream.drift.base import DriftClassifier
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays

ARRAYS = {
    "count": ArraySpec("float64", ("classes",), low=0, finite=True),
    "observed": ArraySpec("float64", ("classes", "d"), low=0, finite=True),
    "mean": ArraySpec("float64", ("classes", "d"), finite=True),
    "scatter": ArraySpec("float64", ("classes", "d"), low=0, finite=True),
}
"""What moments consist of."""


class GaussianMoments:
    """Counts, means and scatters of each class: all that naive Bayes knows.

    Parameters
    ----------
    n_features : int
        Columns of a record.
    smoothing : float
        Records' worth of the overall variance that every class is given.
    """

    __slots__ = ("count", "mean", "observed", "scatter", "smoothing")

    def __init__(self, n_features: int, smoothing: float) -> None:
        self.smoothing = smoothing
        self.count = np.zeros(0)
        self.observed, self.mean, self.scatter = (np.zeros((0, n_features)) for _ in range(3))

    def learn(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Take records into the moments of their classes, one after another."""
        if (n_classes, rows.shape[1]) != self.mean.shape:
            self._grow(n_classes, rows.shape[1])
        _native.learn_moments(rows, numbers, self.count, self.observed, self.mean, self.scatter)

    def proba(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """P(c | x); features that were not there when it learned are left out."""
        known, width = self.mean.shape
        out = np.zeros((len(rows), n_classes))
        if rows.shape[1] != width:
            rows = np.ascontiguousarray(rows[:, :width])
        filled = out if known == n_classes else np.empty((len(rows), known))
        _native.moments_proba(rows, self.smoothing, self.count, self.observed, self.mean, self.scatter, filled)
        if filled is not out:
            out[:, :known] = filled
        return out

    def renumbered(self, numbering: NDArray[np.int32]) -> GaussianMoments:
        """The same moments where class k is called ``numbering[k]``."""
        twin = GaussianMoments(self.mean.shape[1], self.smoothing)
        twin._grow(int(numbering.max()) + 1, self.mean.shape[1])
        here = numbering[: len(self.count)]
        for name in ARRAYS:
            getattr(twin, name)[here] = getattr(self, name)
        return twin

    def __add__(self, other: GaussianMoments) -> GaussianMoments:
        """The moments of the records of both, which have the same classes and features."""
        whole = GaussianMoments(0, self.smoothing)
        whole.count = self.count + other.count
        whole.observed = self.observed + other.observed
        share = other.observed / np.maximum(whole.observed, 1.0)
        apart = other.mean - self.mean
        whole.mean = self.mean + share * apart
        whole.scatter = self.scatter + other.scatter + self.observed * share * apart**2
        return whole

    @classmethod
    def from_file(cls, file: ModelFile, smoothing: float) -> GaussianMoments:
        """Moments whose arrays a file holds."""
        arrays, _ = check_arrays(file, ARRAYS)
        if not arrays["count"].sum() > 0 or (arrays["observed"] > arrays["count"][:, np.newaxis]).any():
            raise ModelFileError(f"{file.path}: its moments count no records, or too few; save the model again")
        moments = cls(0, smoothing)
        for name in ARRAYS:
            setattr(moments, name, arrays[name].copy())
        return moments

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Everything that `from_file` needs."""
        return {name: getattr(self, name) for name in ARRAYS}

    def _grow(self, n_classes: int, n_features: int) -> None:
        classes, features = self.mean.shape
        space = ((0, n_classes - classes), (0, n_features - features))
        self.count = np.pad(self.count, space[0])
        self.observed, self.mean, self.scatter = (
            np.pad(array, space) for array in (self.observed, self.mean, self.scatter)
        )


class GaussianNaiveBayes(DriftClassifier):
    """Naive Bayes with one Gaussian per class and feature, learned record by record.

    Unlike scikit-learn's, it takes single records and new classes at any time, and its variances are sound from the
    first record on: each class is given some of the variance of all records.

    Parameters
    ----------
    smoothing : float, default=0.5
        How many records' worth of the overall variance V_j every class is given beside its own n_cj values of feature
        j: v_cj = (S_cj + smoothing V_j) / (n_cj + smoothing), S_cj the sum of squares about the mean.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    n_features_in_ : int
        Features of a record.
    moments_ : GaussianMoments
        What was learned.

    Notes
    -----
    Missing values (NaN) say nothing, in learning and in answering. A feature that never varied says nothing either.

    Examples
    --------
    >>> model = GaussianNaiveBayes().partial_fit([[0.0], [4.0]], ["left", "right"])
    >>> model.predict([[1.0], [2.5]])
    array(['left', 'right'], dtype='<U5')
    >>> model.partial_fit([[8.0]], ["far right"]).predict([[7.0]])
    array(['far right'], dtype='<U9')
    """

    kind: ClassVar[str] = "naive-bayes"

    def __init__(self, *, smoothing: float = 0.5) -> None:
        self.smoothing = smoothing

    def _begin(self, n_features: int) -> None:
        self.moments_ = self.no_moments(n_features)

    def _learn(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        self.moments_.learn(rows, numbers, n_classes)

    def _proba(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        return self.moments_.proba(rows, n_classes)

    def no_moments(self, n_features: int) -> GaussianMoments:
        """What a model knows that has learned nothing; the parameters are checked."""
        return GaussianMoments(n_features, positive_number("smoothing", self.smoothing))

    # -- keeping -----------------------------------------------------------------------------------------------------

    def _learned(self) -> tuple[dict[str, int], dict[str, NDArray[Any]], list[ModelFile]]:
        moments = copy.copy(self.moments_)
        if moments.mean.shape != (len(self.classes_), self.n_features_in_):
            moments._grow(len(self.classes_), self.n_features_in_)
        return {}, dict(moments.arrays()), []

    def _recall(self, file: ModelFile, parts: list[ModelFile], *, mapped: bool) -> None:
        self.moments_ = GaussianMoments.from_file(file, self.moments_.smoothing)
        if self.moments_.mean.shape != (len(self.classes_), self.n_features_in_):
            raise ModelFileError(f"{file.path}: its moments are of other classes or features; save the model again")

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """The model of all records that `models` were fitted on; parameters are those of the first."""
        whole, numbers = begin_merge(models)
        whole._begin(whole.n_features_in_)
        for model, numbering in zip(models, numbers, strict=True):
            moments = model.moments_.renumbered(numbering)
            moments._grow(len(whole.classes_), whole.n_features_in_)
            whole.moments_ = moments if model is models[0] else whole.moments_ + moments
        return whole
