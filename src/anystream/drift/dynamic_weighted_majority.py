"""Kolter and Maloof's dynamic weighted majority: experts learn on, lose weight by their errors, and are replaced."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.parameters import positive_number, real_number, whole_number
from anystream.drift.base import DriftClassifier
from anystream.drift.file import MOST_RECORDS
from anystream.drift.gaussian_naive_bayes import GaussianNaiveBayes
from anystream.drift.member_file import member_from_part, member_to_part
from anystream.drift.members import Member, allows_nan, new_member
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays, require_metadata


class DynamicWeightedMajority(DriftClassifier):
    """Dynamic weighted majority (DWM): experts vote with weights that fall with their errors.

    Every `period`-th record is a test: experts that are wrong lose weight, those with too little leave, and if the vote
    as a whole is wrong, a new expert begins. All experts learn all records.

    Parameters
    ----------
    estimator : classifier with `partial_fit`, optional
        The experts. Default: `GaussianNaiveBayes`, which makes this DWM-NB.
    beta : float, default=0.5
        What the weight of an expert is multiplied with when it errs.
    theta : float, default=0.01
        Experts leave when their weight, relative to the largest, falls below this.
    period : int, default=10
        Every how many records weights are changed and experts made or removed; p in [1]_.
    max_experts : int, default=50
        Most experts; beyond that the one of least weight leaves.
    seed : int, default=0
        Seeds experts that have a `random_state` or `seed` of None.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    n_features_in_ : int
        Features of a record.
    experts_ : list of Member
        The experts, the oldest first.
    weights_ : array of shape (n_experts,)
        Their weights, at most 1.
    n_records_ : int
        Records learned.

    Notes
    -----
    The paper [1]_ sets no bound to the number of experts; `max_experts` does. Its weights only order the classes; here
    their shares are given as probabilities. An expert that cannot take a class that it was not told of at its beginning
    (as most of scikit-learn's cannot) leaves when the first record of that class comes, and a new one begins if none
    is left.

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

    def __init__(
        self,
        estimator: Any = None,
        *,
        beta: float = 0.5,
        theta: float = 0.01,
        period: int = 10,
        max_experts: int = 50,
        seed: int = 0,
    ) -> None:
        self.estimator = estimator
        self.beta = beta
        self.theta = theta
        self.period = period
        self.max_experts = max_experts
        self.seed = seed

    def _begin(self, n_features: int) -> None:
        positive_number("beta", self.beta, most=1)
        real_number("theta", self.theta, 0, 1)
        whole_number("period", self.period, 1)
        whole_number("max_experts", self.max_experts, 1)
        whole_number("seed", self.seed, 0)
        if not hasattr(self._expert_estimator(), "partial_fit"):
            raise TypeError(
                f"the experts are {type(self.estimator).__name__}, which has no partial_fit; use a classifier that "
                "learns on, or WCEA and SEAEnsemble, whose members need not"
            )
        self.experts_: list[Member] = []
        self.weights_ = np.zeros(0)
        self.n_records_ = 0
        self._n_made = 0

    def _learn(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Between tests the experts only learn, so they take whole stretches at once."""
        if not self.experts_:
            self._add_expert()
            self._teach(rows[:1], numbers[:1], n_classes)
            rows, numbers = rows[1:], numbers[1:]
        while len(numbers):
            until_test = self.period - 1 - self.n_records_ % self.period
            if until_test == 0:
                self._test(rows[:1], int(numbers[0]), n_classes)
            stretch = until_test or self.period
            self._teach(rows[:stretch], numbers[:stretch], n_classes)
            rows, numbers = rows[stretch:], numbers[stretch:]

    def _test(self, row: NDArray[np.float64], truth: int, n_classes: int) -> None:
        said = self._said(row, n_classes)[:, 0]
        weights = np.where(said == truth, self.weights_, self.weights_ * self.beta)
        vote = np.bincount(said, weights, minlength=n_classes).argmax()
        weights = weights / weights.max()
        kept = weights >= self.theta
        self.experts_ = [expert for expert, stays in zip(self.experts_, kept, strict=True) if stays]
        self.weights_ = weights[kept]
        if vote != truth:
            self._add_expert()

    def _add_expert(self) -> None:
        if len(self.experts_) == self.max_experts:
            self._remove(int(self.weights_.argmin()))
        self.experts_.append(new_member(self._expert_estimator(), self.seed + self._n_made))
        self.weights_ = np.append(self.weights_, 1.0)
        self._n_made += 1

    def _remove(self, expert: int) -> None:
        del self.experts_[expert]
        self.weights_ = np.delete(self.weights_, expert)

    def _teach(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Let all experts learn a stretch; who cannot take a new class leaves when its first record comes."""
        while len(numbers):
            taken = self._before_a_stranger(numbers)
            if taken == 0:
                self._dismiss_who_does_not_know(int(numbers[0]))
                continue
            for expert in self.experts_:
                expert.learn(rows[:taken], numbers[:taken], n_classes)
            self.n_records_ += taken
            rows, numbers = rows[taken:], numbers[taken:]

    def _before_a_stranger(self, numbers: NDArray[np.int32]) -> int:
        """How many records come before the first whose class some expert cannot take."""
        present = numbers.tolist()
        strangers = [n for n in set(present) if not all(expert.knows(n) for expert in self.experts_)]
        return min((present.index(n) for n in strangers), default=len(present))

    def _dismiss_who_does_not_know(self, number: int) -> None:
        for expert in reversed(range(len(self.experts_))):
            if not self.experts_[expert].knows(number):
                self._remove(expert)
        if not self.experts_:
            self._add_expert()

    def _said(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.intp]:
        return np.array([expert.proba(rows, n_classes).argmax(axis=1) for expert in self.experts_])

    def _proba(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        votes = np.zeros((len(rows), n_classes))
        each = np.arange(len(rows))
        for said, weight in zip(self._said(rows, n_classes), self.weights_, strict=True):
            votes[each, said] += weight
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    # -- keeping -----------------------------------------------------------------------------------------------------

    def _learned(self) -> tuple[dict[str, int], dict[str, NDArray[Any]], list[ModelFile]]:
        facts = {"n_records": self.n_records_, "n_made": self._n_made}
        return facts, {"weights": self.weights_}, [member_to_part(expert) for expert in self.experts_]

    def _recall(self, file: ModelFile, parts: list[ModelFile], *, mapped: bool) -> None:
        members = [
            member_from_part(part, n_classes=len(self.classes_), n_features=self.n_features_in_, mapped=mapped)
            for part in parts
        ]
        specs = {"weights": ArraySpec("float64", (len(members),), low=0.0, high=1.0)}
        arrays, _ = check_arrays(file, specs)
        if not 1 <= len(members) <= self.max_experts:
            raise ModelFileError(f"{file.path}: has {len(members)} experts; save the model again")
        self.experts_, self.weights_ = members, arrays["weights"].copy()
        self.n_records_ = require_metadata(file, "n_records", int, low=1, high=MOST_RECORDS)
        self._n_made = require_metadata(file, "n_made", int, low=1, high=MOST_RECORDS)

    def _expert_estimator(self) -> Any:
        return GaussianNaiveBayes() if self.estimator is None else self.estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = allows_nan(self._expert_estimator())
        return tags
