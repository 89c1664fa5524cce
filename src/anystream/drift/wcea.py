"""Wang's ensemble: members from consecutive chunks, weighted by their accuracy on the newest one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from anystream.anytime.base import AnytimeClassifierMixin
from anystream.anytime.budget import Budget
from anystream.anytime.class_labels import class_numbers, extend_classes
from anystream.anytime.query import Query
from anystream.drift.chunks import ChunkEnsemble
from anystream.drift.committee import Committee
from anystream.drift.committee_query import CommitteeQuery
from anystream.drift.members import AnytimeMember, Member, allows_nan
from anystream.drift.stream_classifier import stacked, whole


class WCEA(AnytimeClassifierMixin, ChunkEnsemble):
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

    References
    ----------
    .. [1] Wang, Fan, Yu, Han, "Mining concept-drifting data streams using ensemble classifiers", KDD 2003.

    Examples
    --------
    >>> from anystream.bayes_tree import BayesTreeClassifier
    >>> from anystream.streams import SEA
    >>> stream = SEA(concepts=(7, 9), drifts=(2000,), seed=1)
    >>> model = WCEA(estimator=BayesTreeClassifier(), chunk_size=200).fit(*stream.take(2000))
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
        whole("capacity", self.capacity)
        whole("folds", self.folds, least=2)
        whole("budget", self.budget, least=0)
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
        if not models:
            raise ValueError("there is no model to merge; give at least one")
        for model in models:
            check_is_fitted(model)
            if list(model.columns_) != list(models[0].columns_):
                raise ValueError(
                    f"the models know different features ({list(models[0].columns_)} and {list(model.columns_)}); "
                    "merge models that were fitted on the same columns"
                )
        classes = models[0].classes_
        for model in models[1:]:
            classes = extend_classes(classes, model.classes_)
        maps = [class_numbers(classes, model.classes_) for model in models]
        merged = models[0].clone()
        merged._begin(models[0].n_features_in_)
        merged.classes_, merged.columns_ = classes, dict(models[0].columns_)
        merged.n_features_in_ = models[0].n_features_in_
        if hasattr(models[0], "feature_names_in_"):
            merged.feature_names_in_ = models[0].feature_names_in_
        learned = [(model, numbers) for model, numbers in zip(models, maps, strict=True) if model.n_chunks_]
        if learned:
            merged.n_chunks_ = max(model.n_chunks_ for model, _ in learned)
            older = [m.renumbered(numbers) for model, numbers in learned for m in model.committee_.members[1:]]
            rows = stacked(model._newest_chunk[0] for model, _ in learned)
            newest = np.concatenate([numbers[model._newest_chunk[1]] for model, numbers in learned])
            merged._add_member(older, rows, newest, len(classes))
        for model, numbers in zip(models, maps, strict=True):
            for rows, theirs in model._pending:
                merged._learn(rows, numbers[theirs], len(classes))
        return merged

    # -- what the contract asks --------------------------------------------------------------------------------------

    def _answer(
        self, queries: NDArray[np.float64], budget: Budget
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        return self.committee_.answer(queries, len(self.classes_), budget)

    def _staged_proba(self, queries: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        return self.committee_.staged(queries, len(self.classes_), stages)

    def _open_query(self, row: NDArray[np.float64]) -> Query:
        if len(row) != self.n_features_in_:
            raise ValueError(
                f"the record has {len(row)} features, fit saw {self.n_features_in_}; pass the same columns"
            )
        if np.isinf(row).any():
            raise ValueError("a record holds an infinite value; use NaN for a missing one")
        return CommitteeQuery.open(self.classes_, self.committee_, self.n_chunks_, row)

    def _resume_query(self, state: Any) -> Query:
        return CommitteeQuery.resume(self.classes_, self.committee_, self.n_chunks_, state)

    @property
    def save(self) -> Any:
        """Not there: members may be of any class, and a model file holds no code. Pickle the ensemble instead."""
        raise AttributeError("a WCEA has no file format, since its members may be of any class; pickle it instead")

    # -- one record, and validation ------------------------------------------------------------------------------------

    def _proba(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        return self.committee_.answer(rows, n_classes, Budget(steps=self.budget))[0]

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"budget"}

    def _validate_queries(self, X: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(
            validate_data(self, X, dtype=np.float64, order="C", ensure_all_finite=self._finite_rule(), reset=False)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = allows_nan(self._member_estimator())
        return tags
