"""Kolter and Maloof's dynamic weighted majority: experts keep learning, lose weight by errors, and are replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream.drift.ensemble_members import Member
from anystream.drift.ensemble_members.file import dump_members, restore_members
from anystream.drift.experts import Experts, MemberExperts
from anystream.drift.gaussian_naive_bayes import GaussianNaiveBayes
from anystream.drift.meta_classifier import SaveableMetaClassifier
from anystream.drift.moments_experts import group_experts
from anystream.estimators.parameters import MAX_INT, check_float, check_int, check_positive
from anystream.estimators.saving import ModelState
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays, require_metadata


class DynamicWeightedMajority(SaveableMetaClassifier):
    """Dynamic weighted majority (DWM): experts vote with weights that decrease with their errors.

    Every `period`-th record is a test: experts that are wrong lose weight, those with too little weight are removed,
    and if the vote as a whole is wrong, a new expert is added. All experts learn all records.

    Parameters
    ----------
    estimator : classifier with `partial_fit`, optional
        The experts. Default: `GaussianNaiveBayes`, which makes this DWM-NB.
    beta : float, default=0.5
        Factor of the weight of an expert that is wrong.
    theta : float, default=0.01
        Experts are removed when their weight, relative to the largest, is below this.
    period : int, default=10
        Number of records from one change of weights and experts to the next; p in [1]_.
    max_experts : int, default=50
        Maximum number of experts; beyond it, a new one replaces the one of lowest weight.
    random_state : int, RandomState or None, default=0
        Seeds experts whose own `random_state` or `seed` is None.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels. New ones are appended.
    n_features_in_ : int
        Features of a record.
    experts_ : tuple of Member
        The experts, the oldest first.
    weights_ : array of shape (n_experts,)
        Their weights, at most 1.
    n_records_ : int
        Records learned.

    Notes
    -----
    There is no `merge`: weights count errors on one stream and mean nothing beside those of another.

    The paper [1]_ does not bound the number of experts; `max_experts` does. Its weights only rank the classes; here
    their shares are the probabilities. An expert that can only learn the classes of its first call (as most of
    scikit-learn's) is removed at the first record of another class, and a new one is added if none is left.

    References
    ----------
    .. [1] Kolter, Maloof, "Dynamic weighted majority: an ensemble method for drifting concepts", JMLR 8, 2007.

    Examples
    --------
    >>> from anystream.streams import MovingGaussians
    >>> stream = MovingGaussians(concepts=("plain", "swapped"), drifts=(1000,), seed=1)
    >>> model = DynamicWeightedMajority().fit(*stream.take(1000))
    >>> before = model.score(*stream.take(500, start=1500))
    >>> model.partial_fit(*stream.take(500, start=1000)).score(*stream.take(500, start=1500)) > before
    True
    """

    kind: ClassVar[str] = "dynamic-weighted-majority"
    file_version: ClassVar[int] = 2
    copies_mapped_files: ClassVar[bool] = True
    needs_partial_fit: ClassVar[bool] = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        beta: float = 0.5,
        theta: float = 0.01,
        period: int = 10,
        max_experts: int = 50,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.beta = beta
        self.theta = theta
        self.period = period
        self.max_experts = max_experts
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------------------------------------

    def default_estimator(self) -> GaussianNaiveBayes:
        """Return naive Bayes."""
        return GaussianNaiveBayes()

    def check_parameters(self) -> None:
        """Check all parameters."""
        super().check_parameters()
        check_positive("beta", self.beta, below=1)
        check_float("theta", self.theta, 0, 1)
        check_int("period", self.period, 1)
        check_int("max_experts", self.max_experts, 1)

    def reset(self, n_features: int) -> None:
        """Start without experts."""
        self._experts: Experts = MemberExperts()
        self.weights_ = np.zeros(0)
        self.n_records_ = 0
        self._n_created = 0

    @property
    def experts_(self) -> tuple[Member, ...]:
        """The experts, the oldest first."""
        return self._experts.members

    def learn_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn records; between two tests the experts only learn, so they get all these records in one call."""
        # Copies learn: the experts of the published model stay as they are until the call has succeeded.
        self._experts = self._experts.prepare(len(numbers), n_classes, records.shape[1])
        if not len(self.weights_):
            self._add_expert()
            self._teach(records[:1], numbers[:1], n_classes)
            records, numbers = records[1:], numbers[1:]
        while len(numbers):
            until_test = self.period - 1 - self.n_records_ % self.period
            if until_test == 0:
                self._test(records[:1], int(numbers[0]), n_classes)
            n_batch = until_test or self.period  # up to the next test
            self._teach(records[:n_batch], numbers[:n_batch], n_classes)
            records, numbers = records[n_batch:], numbers[n_batch:]

    def _test(self, record: NDArray[np.float64], truth: int, n_classes: int) -> None:
        """Change weights and experts by their predictions of one record."""
        predicted = self._experts.predict(record, n_classes)[:, 0]
        weights = np.where(predicted == truth, self.weights_, self.weights_ * self.beta)
        vote = np.bincount(predicted, weights, minlength=n_classes).argmax()
        weights = weights / weights.max()
        self._keep(weights >= self.theta, weights)
        if vote != truth:
            self._add_expert()

    def _add_expert(self) -> None:
        if len(self.weights_) == self.max_experts:
            self._keep(np.arange(len(self.weights_)) != self.weights_.argmin(), self.weights_)
        member = self.new_member(self._n_created)
        self._experts = self._experts.add(member) if len(self.weights_) else group_experts([member])
        self.weights_ = np.append(self.weights_, 1.0)
        self._n_created += 1

    def _keep(self, kept: NDArray[np.bool_], weights: NDArray[np.float64]) -> None:
        """Remove the other experts; of those that stay, the highest weight is 1."""
        self._experts = self._experts.keep(kept)
        highest = weights[kept].max(initial=0.0)
        self.weights_ = weights[kept] / highest if highest > 0.0 else np.ones(np.count_nonzero(kept))

    def _teach(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Let all experts learn records; those that cannot learn a class are removed at its first record."""
        while len(numbers):
            n_taught = _count_learnable(self._experts, numbers)
            if n_taught == 0:
                self._keep(self._experts.can_learn(int(numbers[0])), self.weights_)
                if not len(self.weights_):
                    self._add_expert()
                continue
            self._experts.learn(records[:n_taught], numbers[:n_taught], n_classes)
            self.n_records_ += n_taught
            records, numbers = records[n_taught:], numbers[n_taught:]

    # -- classifying -------------------------------------------------------------------------------------------------

    def voters(self) -> Sequence[tuple[Member, float]]:
        """Return the experts with their weights."""
        return [*zip(self.experts_, self.weights_.tolist(), strict=True)]

    def records_proba(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shares of the weights of the experts that predict a class."""
        experts, weights, n_classes = self._experts, self.weights_, len(self.classes_)
        votes = np.zeros((len(records), n_classes))
        each = np.arange(len(records))
        for predicted, weight in zip(experts.predict(records, n_classes), weights, strict=True):
            votes[each, predicted] += weight
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    # -- saving ------------------------------------------------------------------------------------------------------

    def dump_state(self) -> ModelState:
        """Return experts, weights and counters."""
        metadata, arrays = dump_members(self.experts_)
        counters = {"n_records": self.n_records_, "n_created": self._n_created}
        return ModelState(metadata | counters, arrays | {"weights": self.weights_})

    def restore_state(self, file: ModelFile, *, mapped: bool) -> None:
        """Restore experts, weights and counters."""
        experts, own = restore_members(
            file, n_classes=len(self.classes_), n_features=self.n_features_in_, mapped=mapped
        )
        arrays, _ = check_arrays(own, {"weights": ArraySpec("float64", (len(experts),), low=0.0, high=1.0)})
        if not 1 <= len(experts) <= self.max_experts:
            raise ModelFileError(f"{file.path}: has {len(experts)} experts; save the model again")
        highest = arrays["weights"].max()
        if highest == 0.0:
            raise ModelFileError(f"{file.path}: the weights of all experts are 0; save the model again")
        self._experts, self.weights_ = group_experts(experts), arrays["weights"] / highest
        self.n_records_ = require_metadata(own, "n_records", int, low=1, high=MAX_INT)
        self._n_created = require_metadata(own, "n_created", int, low=1, high=MAX_INT)


def _count_learnable(experts: Experts, numbers: NDArray[np.int32]) -> int:
    """Return the number of records before the first one whose class an expert cannot learn."""
    classes = numbers.tolist()
    unknown = [number for number in set(classes) if not experts.can_learn(number).all()]
    return min((classes.index(number) for number in unknown), default=len(classes))
