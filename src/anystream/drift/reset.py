"""A classifier that begins anew when a detector reports a change."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.parameters import whole_number
from anystream.drift.base import Absent, DriftClassifier, stacked
from anystream.drift.detector import DriftDetector, river_detector
from anystream.drift.gaussian_naive_bayes import GaussianNaiveBayes
from anystream.drift.members import Member, allows_nan, new_member


class ResetOnDrift(DriftClassifier):
    """Any classifier with `partial_fit`, begun anew on the newest records whenever a detector reports a change.

    Each record is answered before it is learned, and the detector is told whether the answer was wrong.

    Parameters
    ----------
    estimator : classifier with `partial_fit`, optional
        Who learns. Default: `GaussianNaiveBayes`.
    detector : DriftDetector or str, default="ADWIN"
        Who watches the errors: an object, of which a copy is used, or the name of one of river's detectors.
    keep : int, default=50
        The newest records with which the classifier begins anew: about as many as the detector needs to notice.
    seed : int, default=0
        Seeds a classifier that has a `random_state` or `seed` of None.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    n_features_in_ : int
        Features of a record.
    resets_ : list of int
        The numbers of records after which the classifier began anew.
    n_records_ : int
        Records learned.

    Examples
    --------
    >>> from anystream.streams import MovingGaussians
    >>> stream = MovingGaussians(concepts=("plain", "swapped"), drifts=(1000,), seed=1)
    >>> model = ResetOnDrift().fit(*stream.take(2000))
    >>> [1000 < at < 1200 for at in model.resets_]
    [True]
    """

    save = Absent("a model file holds no code, and so none of river's detectors; pickle the model instead")

    def __init__(
        self, estimator: Any = None, *, detector: DriftDetector | str = "ADWIN", keep: int = 50, seed: int = 0
    ) -> None:
        self.estimator = estimator
        self.detector = detector
        self.keep = keep
        self.seed = seed

    def _begin(self, n_features: int) -> None:
        whole_number("keep", self.keep, 1)
        whole_number("seed", self.seed, 0)
        if not hasattr(self._watched_estimator(), "partial_fit"):
            raise TypeError(f"{type(self.estimator).__name__} has no partial_fit; use a classifier that learns on")
        self._detector = self._new_detector()
        self._member: Member | None = None
        self._newest: list[tuple[NDArray[np.float64], int]] = []
        self.resets_: list[int] = []
        self.n_records_ = 0

    def _learn(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        for row, number in zip(rows, numbers.tolist(), strict=True):
            member = self._member
            if member is not None:
                said = member.proba(row[np.newaxis], n_classes)[0].argmax()
                self._detector.update(int(said != number))
            self.n_records_ += 1
            self._newest.append((row.copy(), number))
            del self._newest[: -self.keep]
            if member is not None and self._detector.drift_detected:
                self._detector = self._new_detector()
                self.resets_.append(self.n_records_)
                self._begin_with(self._newest, n_classes)
            elif member is None or not member.knows(number):
                self._begin_with([(row, number)], n_classes)
            else:
                member.learn(row[np.newaxis], np.array([number], dtype=np.int32), n_classes)

    def _begin_with(self, records: list[tuple[NDArray[np.float64], int]], n_classes: int) -> None:
        member = new_member(self._watched_estimator(), self.seed + len(self.resets_))
        rows = stacked(row[np.newaxis] for row, _ in records)
        member.learn(rows, np.array([number for _, number in records], dtype=np.int32), n_classes)
        self._member = member

    def _proba(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        if self._member is None:
            return np.full((len(rows), n_classes), 1.0 / n_classes)
        return self._member.proba(rows, n_classes)

    def _new_detector(self) -> DriftDetector:
        if isinstance(self.detector, str):
            return river_detector(self.detector)
        if not isinstance(self.detector, DriftDetector):
            raise TypeError(
                f"detector is {self.detector!r}; use the name of one of river's detectors, or an object with `update` "
                "and `drift_detected`"
            )
        return copy.deepcopy(self.detector)

    def _watched_estimator(self) -> Any:
        return GaussianNaiveBayes() if self.estimator is None else self.estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = allows_nan(self._watched_estimator())
        return tags
