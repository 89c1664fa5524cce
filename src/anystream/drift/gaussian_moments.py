"""Moments of each class: counts, means and scatters of its features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays

MOMENT_ARRAYS = {
    "count": ArraySpec("float64", ("classes",), low=0, finite=True),
    "observed": ArraySpec("float64", ("classes", "d"), low=0, finite=True),
    "mean": ArraySpec("float64", ("classes", "d"), finite=True),
    "scatter": ArraySpec("float64", ("classes", "d"), low=0, finite=True),
}
"""Arrays of the moments, as a model file stores them."""


class GaussianMoments:
    """Moments of each class, and the probabilities of naive Bayes that follow from them.

    Parameters
    ----------
    n_features : int
        Columns of a record. There are no classes at first.
    smoothing : float
        Weight, in records, of the overall variance in the variance of every class.

    Attributes
    ----------
    count : array of shape (n_classes,)
        Records of each class.
    observed, mean, scatter : arrays of shape (n_classes, n_features)
        Number of values that were not missing, their mean, and the sum of their squared distances from it.
    """

    __slots__ = ("count", "mean", "observed", "scatter", "smoothing")

    def __init__(self, n_features: int, smoothing: float) -> None:
        self.smoothing = smoothing
        self.count = np.zeros(0)
        self.observed, self.mean, self.scatter = (np.zeros((0, n_features)) for _ in range(3))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes and of features."""
        n_classes, n_features = self.mean.shape
        return n_classes, n_features

    def learn(self, records: NDArray[np.float64], numbers: NDArray[np.int32]) -> None:
        """Add records to the moments of their classes, in place and one after another.

        The native call checks all sizes and class numbers before it changes anything, and cannot fail after that.
        """
        _native.learn_moments(records, numbers, self.count, self.observed, self.mean, self.scatter)

    def proba(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Return P(c | x) for at least `n_classes` classes; columns beyond the known features are ignored."""
        known, n_features = self.shape
        if records.shape[1] != n_features:
            records = np.ascontiguousarray(records[:, :n_features])
        proba = np.zeros((len(records), max(known, n_classes)))
        filled = proba if known >= n_classes else np.empty((len(records), known))
        _native.moments_proba(records, self.smoothing, self.count, self.observed, self.mean, self.scatter, filled)
        if filled is not proba:
            proba[:, :known] = filled
        return proba

    def with_shape(self, n_classes: int, n_features: int) -> GaussianMoments:
        """Return the same moments with more classes or features, or these themselves if nothing is added."""
        if (n_classes, n_features) == self.mean.shape:
            return self
        known_classes, known_features = self.shape
        added = ((0, n_classes - known_classes), (0, n_features - known_features))
        wider = GaussianMoments(0, self.smoothing)
        wider.count = np.pad(self.count, added[0])
        wider.observed, wider.mean, wider.scatter = (
            np.pad(array, added) for array in (self.observed, self.mean, self.scatter)
        )
        return wider

    def copy(self, n_classes: int, n_features: int) -> GaussianMoments:
        """Return the same moments, perhaps with more classes or features, that can learn without changing these."""
        wider = self.with_shape(n_classes, n_features)
        if wider is not self:
            return wider
        twin = GaussianMoments(0, self.smoothing)
        twin.count, twin.observed = self.count.copy(), self.observed.copy()
        twin.mean, twin.scatter = self.mean.copy(), self.scatter.copy()
        return twin

    def renumber(self, class_map: NDArray[np.int32]) -> GaussianMoments:
        """Return the same moments with class k as class ``class_map[k]``."""
        renumbered = GaussianMoments(self.shape[1], self.smoothing).with_shape(int(class_map.max()) + 1, self.shape[1])
        used = class_map[: len(self.count)]
        for name in MOMENT_ARRAYS:
            getattr(renumbered, name)[used] = getattr(self, name)
        return renumbered

    def __add__(self, other: GaussianMoments) -> GaussianMoments:
        """Return the moments of the records of both, which have the same classes and features."""
        total = GaussianMoments(0, self.smoothing)
        total.count = self.count + other.count
        total.observed = self.observed + other.observed
        share = other.observed / np.maximum(total.observed, 1.0)
        difference = other.mean - self.mean
        total.mean = self.mean + share * difference
        total.scatter = self.scatter + other.scatter + self.observed * share * difference**2
        return total

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the arrays that `from_file` reads."""
        return {name: getattr(self, name) for name in MOMENT_ARRAYS}

    @classmethod
    def from_file(
        cls, file: ModelFile, smoothing: float, *, n_classes: int | None = None, n_features: int | None = None
    ) -> GaussianMoments:
        """Return the moments of a file, every value checked; the numbers of classes and features if they are known."""
        sizes = {} if n_classes is None or n_features is None else {"classes": n_classes, "d": n_features}
        arrays, _ = check_arrays(file, MOMENT_ARRAYS, sizes)
        if not arrays["count"].sum() > 0 or (arrays["observed"] > arrays["count"][:, np.newaxis]).any():
            raise ModelFileError(
                f"{file.path}: the moments have no records, or fewer records than values; save the model again"
            )
        moments = cls(0, smoothing)
        for name in MOMENT_ARRAYS:
            setattr(moments, name, arrays[name].copy())
        return moments
