"""Classifier that starts again when a detector reports a change."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream.drift.columns import stack_records
from anystream.drift.detector import DriftDetector, find_river_detector
from anystream.drift.ensemble_members import Member, MomentsMember
from anystream.drift.gaussian_naive_bayes import GaussianNaiveBayes
from anystream.drift.meta_classifier import MetaClassifier
from anystream.estimators.parameters import check_int


class ResetOnDrift(MetaClassifier):
    """Any classifier with `partial_fit`, trained again on the newest records whenever a detector reports a change.

    Each record is classified before it is learned, and the detector observes whether the prediction was wrong.

    Parameters
    ----------
    estimator : classifier with `partial_fit`, optional
        The classifier. Default: `GaussianNaiveBayes`.
    detector : DriftDetector or str, default="ADWIN"
        Observes the errors: an object, of which a copy is used, or the name of one of river's detectors.
    keep : int, default=50
        Number of the newest records on which the classifier is trained again: about as many as the detector needs to
        detect a change.
    random_state : int, RandomState or None, default=0
        Seeds a classifier whose own `random_state` or `seed` is None.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels. New ones are appended.
    n_features_in_ : int
        Features of a record.
    resets_ : tuple of int
        Numbers of records after which the classifier was trained again.
    n_records_ : int
        Records learned.

    Notes
    -----
    There is no `merge`: at most one of several models is in the concept of now, and none knows which. There is no
    `save`: a model file stores no code and therefore none of river's detectors. Pickle the model instead.

    Examples
    --------
    >>> from anystream.streams import MovingGaussians
    >>> stream = MovingGaussians(concepts=("plain", "swapped"), drifts=(1000,), seed=1)
    >>> model = ResetOnDrift().fit(*stream.take(2000))
    >>> [1000 < n_records < 1200 for n_records in model.resets_]
    [True]
    """

    needs_partial_fit: ClassVar[bool] = True

    def __init__(
        self, estimator: Any = None, *, detector: DriftDetector | str = "ADWIN", keep: int = 50, random_state: Any = 0
    ) -> None:
        self.estimator = estimator
        self.detector = detector
        self.keep = keep
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------------------------------------

    def default_estimator(self) -> GaussianNaiveBayes:
        """Return naive Bayes."""
        return GaussianNaiveBayes()

    def check_parameters(self) -> None:
        """Check all parameters."""
        super().check_parameters()
        check_int("keep", self.keep, 1)
        if isinstance(self.detector, str):
            find_river_detector(self.detector)
        elif isinstance(self.detector, type) or not isinstance(self.detector, DriftDetector):
            raise TypeError(
                f"detector is {self.detector!r}; use the name of one of river's detectors, or an object with `update` "
                "and `drift_detected`"
            )

    def reset(self, n_features: int) -> None:
        """Start without a classifier and records."""
        self._detector = self._new_detector()
        self._member: Member | None = None
        self._newest: tuple[tuple[NDArray[np.float64], int], ...] = ()
        self.resets_: tuple[int, ...] = ()
        self.n_records_ = 0

    def learn_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Classify, observe and learn one record after another."""
        self._copy_what_learning_changes(len(numbers), n_classes)
        newest = deque(self._newest, maxlen=self.keep)
        for record, number in zip(records, numbers.tolist(), strict=True):
            member, single = self._member, record[np.newaxis]
            if member is not None:
                predicted = member.proba(single, n_classes)[0].argmax()
                self._detector.update(int(predicted != number))
            self.n_records_ += 1
            newest.append((record.copy(), number))
            if member is not None and self._detector.drift_detected:
                self._detector = self._new_detector()
                self.resets_ = (*self.resets_, self.n_records_)
                self._member = self._train_member(newest, n_classes)
            elif member is None or not member.can_learn(number):
                self._member = self._train_member([(record, number)], n_classes)
            else:
                member.learn(single, np.array([number], dtype=np.int32), n_classes)
        self._newest = tuple(newest)

    def _copy_what_learning_changes(self, n_records: int, n_classes: int) -> None:
        """Replace classifier and detector by copies: the published ones stay as they are until learning has succeeded.

        One of river's detectors is not copied if nothing can fail after it: for one record and our naive Bayes.
        """
        member = self._member
        if member is not None and member.needs_copy(n_records, n_classes):
            self._member = member.copy()
        if n_records > 1 or not (isinstance(member, MomentsMember) and isinstance(self.detector, str)):
            self._detector = copy.deepcopy(self._detector)

    def _train_member(self, labelled: Iterable[tuple[NDArray[np.float64], int]], n_classes: int) -> Member:
        records, numbers = zip(*labelled, strict=True)
        member = self.new_member(len(self.resets_))
        stacked = stack_records(record[np.newaxis] for record in records)
        member.learn(stacked, np.array(numbers, dtype=np.int32), n_classes)
        return member

    def _new_detector(self) -> DriftDetector:
        if isinstance(self.detector, str):
            detector: DriftDetector = find_river_detector(self.detector)()
            return detector
        return copy.deepcopy(self.detector)

    # -- classifying -------------------------------------------------------------------------------------------------

    def voters(self) -> Sequence[tuple[Member, float]]:
        """Return the present classifier."""
        return [] if self._member is None else [(self._member, 1.0)]

    def records_proba(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of the present classifier."""
        member, n_classes = self._member, len(self.classes_)
        if member is None:
            return np.full((len(records), n_classes), 1.0 / n_classes)
        return member.proba(records, n_classes)
