"""Wang's ensemble: members from consecutive chunks, weighted by their accuracy on the newest one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier

from anystream.anytime.budget import Budget
from anystream.anytime.merging import begin_merge
from anystream.anytime.parameters import whole_number
from anystream.anytime.query import Query
from anystream.drift.base import padded, stacked
from anystream.drift.chunks import ChunkEnsemble
from anystream.drift.committee import Committee
from anystream.drift.committee_query import CommitteeQuery
from anystream.drift.member_file import member_to_part
from anystream.drift.members import AnytimeMember, Member
from anystream.model_file import ArraySpec, ModelFile, ModelFileError


class WCEA(ChunkEnsemble):
    """Weighted classifier ensemble of Wang et al.: one member per chunk, weighted by its accuracy on the newest chunk.

    Members of an older concept lose their weight with the first chunk of a new one, and get it back if the concept
    returns. Any classifier can be a member. If members are anytime, so is the ensemble: a budget is passed on to each
    of them.

    Parameters
    ----------
    estimator : classifier, optional
        What is trained on each chunk. Default: an entropy decision tree with at least 3 records in a leaf.
    capacity : int, default=12
        Most members; K in [1]_. The newest stays, and beside it the best.
    chunk_size : int, default=100
        Records of a chunk. More make better members, fewer follow a drift sooner.
    folds : int, default=5
        Parts of the cross-validation by which the newest member is judged, since it knows its own chunk.
    budget : int, default=200
        Steps per record that calls without a budget of their own spend, and that weighing spends. It matters to
        anytime members only; others answer whole at any budget.
    seed : int, default=0
        Seeds members that have a `random_state` or `seed` of None.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    n_features_in_ : int
        Features of a record.
    n_chunks_ : int
        Chunks learned.
    committee_ : Committee
        The members and their weights, the newest first.

    Notes
    -----
    On the newest chunk of class shares p(c), with f_i(c | x) the probability that member i gives to the true class:
    w_i = MSE_r - MSE_i, MSE_i = mean (1 - f_i(c | x))^2, MSE_r = sum_c p(c) (1 - p(c))^2 (Eq. 6-8 of [1]_). Members
    with w_i <= 0 are silent; if all are, the newest decides alone. Answers are the weighted mean of probabilities.

    A step is one step of every member that has a say, so its cost grows with their number. Under a deadline each gets
    an equal share of the time. `predict` may run in many threads while one learns.

    Records are gathered until a chunk is full; while the first one fills, a provisional member answers.

    Every chunk is a fit: take a classifier that is quick to fit, such as a Bayes tree without learned metric and root
    model.

    `save` takes ensembles of classifiers of anystream and of scikit-learn's decision trees. Of a decision tree a member
    keeps no more than it needs to answer.

    References
    ----------
    .. [1] Wang, Fan, Yu, Han, "Mining concept-drifting data streams using ensemble classifiers", KDD 2003.

    Examples
    --------
    >>> from anystream.bayes_tree import BayesTreeClassifier
    >>> from anystream.streams import SEA
    >>> stream = SEA(concepts=(7, 9), drifts=(2000,), seed=1)
    >>> quick = BayesTreeClassifier(metric=None, root_model=None)
    >>> model = WCEA(quick, chunk_size=200).fit(*stream.take(2000))
    >>> X, y = stream.take(500, start=3000)
    >>> before = model.score(X, y)
    >>> after = model.partial_fit(*stream.take(1000, start=2000)).score(X, y)
    >>> after > before
    True
    >>> model.classify(X, budget=3).steps.max()
    np.int64(3)
    """

    kind: ClassVar[str] = "wcea"

    def __init__(
        self,
        estimator: Any = None,
        *,
        capacity: int = 12,
        chunk_size: int = 100,
        folds: int = 5,
        budget: int = 200,
        seed: int = 0,
    ) -> None:
        self.estimator = estimator
        self.capacity = capacity
        self.chunk_size = chunk_size
        self.folds = folds
        self.budget = budget
        self.seed = seed

    # -- learning --------------------------------------------------------------------------------------------------

    def _begin(self, n_features: int) -> None:
        whole_number("capacity", self.capacity, 1)
        whole_number("folds", self.folds, 2)
        whole_number("budget", self.budget, 0)
        super()._begin(n_features)
        self.committee_ = Committee()
        self._newest_chunk = (np.zeros((0, n_features)), np.zeros(0, dtype=np.int32))

    def _default_estimator(self) -> BaseEstimator:
        return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=3)

    def _learn_chunk(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        older = self.committee_.members if self.n_chunks_ else ()  # a provisional member leaves
        self._add_member(older, rows, numbers, n_classes)

    def _add_member(
        self, older: Sequence[Member], rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int
    ) -> None:
        newest = self._new_member()
        newest.fit(rows, numbers, n_classes)
        shares = np.bincount(numbers) / len(numbers)
        at_random = float((shares * (1 - shares) ** 2).sum())  # MSE_r
        losses = [self._cross_validated_loss(rows, numbers, n_classes, at_random)]
        losses += [float(self._losses(member, rows, numbers, n_classes).mean()) for member in older]
        weights = at_random - np.array(losses)
        kept = [0, *sorted(1 + np.argsort(-weights[1:], kind="stable")[: self.capacity - 1])]
        members = [newest, *older]
        self.committee_ = Committee(tuple(members[i] for i in kept), weights[kept])
        self._newest_chunk = rows, numbers

    def _losses(
        self, member: Member, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int
    ) -> NDArray[np.float64]:
        """(1 - f(c | x))^2 of each record."""
        if isinstance(member, AnytimeMember):
            proba = member.answer(rows, n_classes, Budget(steps=self.budget))[0]
        else:
            proba = member.proba(rows, n_classes)
        return np.asarray((1 - proba[np.arange(len(numbers)), numbers]) ** 2)

    def _cross_validated_loss(
        self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int, at_random: float
    ) -> float:
        if len(numbers) < 2:
            return at_random  # one record says nothing about how it would be answered
        folds = min(self.folds, len(numbers))
        fold = np.arange(len(numbers)) % folds
        loss = 0.0
        for held_out in range(folds):
            member = self._new_member()
            member.fit(rows[fold != held_out], numbers[fold != held_out], n_classes)
            loss += float(self._losses(member, rows[fold == held_out], numbers[fold == held_out], n_classes).sum())
        return loss / len(numbers)

    def _answer_provisionally(self, member: Member) -> None:
        self.committee_ = Committee((member,), np.ones(1))

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """One ensemble from those of several streams; parameters are those of the first.

        The newest chunks are put together and a new member is learned from them; the older members of all models,
        weighed on that same data, are kept as far as the capacity allows. Members that never saw a class cannot vote
        for it, so the parts should have met the same classes.
        """
        merged, maps = begin_merge(models)
        merged._begin(merged.n_features_in_)
        n_classes = len(merged.classes_)
        learned = [(model, numbers) for model, numbers in zip(models, maps, strict=True) if model.n_chunks_]
        if learned:
            merged.n_chunks_ = max(model.n_chunks_ for model, _ in learned)
            older = [m.renumbered(numbers) for model, numbers in learned for m in model.committee_.members[1:]]
            rows = stacked(model._newest_chunk[0] for model, _ in learned)
            newest = np.concatenate([numbers[model._newest_chunk[1]] for model, numbers in learned])
            merged._add_member(older, rows, newest, n_classes)
        for model, numbers in zip(models, maps, strict=True):
            for rows, theirs in model._pending:
                merged._learn(rows, numbers[theirs], n_classes)
        return merged

    # -- what the contract asks --------------------------------------------------------------------------------------

    def _answer(
        self, queries: NDArray[np.float64], budget: Budget
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        return self.committee_.answer(queries, len(self.classes_), budget)

    def _staged_proba(self, queries: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        return self.committee_.staged(queries, len(self.classes_), stages)

    def _open_query(self, row: NDArray[np.float64]) -> Query:
        return CommitteeQuery.open(self.classes_, self.committee_, self.n_chunks_, self._checked_row(row))

    def _resume_query(self, state: Any) -> Query:
        return CommitteeQuery.resume(self.classes_, self.committee_, self.n_chunks_, state)

    # -- one record, and validation ------------------------------------------------------------------------------------

    def _proba(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        return self.committee_.answer(rows, n_classes, Budget(steps=self.budget))[0]

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"budget"}

    # -- keeping -----------------------------------------------------------------------------------------------------

    def _learned(self) -> tuple[dict[str, int], dict[str, NDArray[Any]], list[ModelFile]]:
        facts, arrays, _ = super()._learned()
        rows, numbers = self._newest_chunk
        arrays |= {
            "weights": self.committee_.weights,
            "newest_rows": padded(rows, self.n_features_in_),
            "newest_numbers": numbers,
        }
        return facts, arrays, [member_to_part(member) for member in self.committee_.members]

    def _recall(self, file: ModelFile, parts: list[ModelFile], *, mapped: bool) -> None:
        members = self._members_of(parts, mapped=mapped)
        specs = {
            "weights": ArraySpec("float64", (len(members),), finite=True),
            "newest_rows": ArraySpec("float64", ("newest", self.n_features_in_)),
            "newest_numbers": ArraySpec("int32", ("newest",), low=0, high=len(self.classes_) - 1),
        }
        arrays = self._recall_chunks(file, specs)
        if not 1 <= len(members) <= self.capacity:
            raise ModelFileError(f"{file.path}: has {len(members)} members; save the model again")
        self.committee_ = Committee(tuple(members), arrays["weights"].copy())
        self._newest_chunk = arrays["newest_rows"].copy(), arrays["newest_numbers"].copy()
