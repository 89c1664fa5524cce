"""Wang's ensemble: members from consecutive chunks, weighted by their accuracy on the newest one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.anytime.query import Query
from anystream.drift.chunk_ensemble import ChunkEnsemble
from anystream.drift.chunk_in_progress import ChunkInProgress
from anystream.drift.columns import pad_columns, stack_records
from anystream.drift.committee import Committee
from anystream.drift.committee_query import CommitteeQuery
from anystream.drift.ensemble_members import Member, group_by_cost
from anystream.drift.ensemble_members.file import restore_members
from anystream.estimators.merging import MergeableMixin
from anystream.estimators.parameters import check_choice, check_int
from anystream.estimators.saving import ModelState
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, require_metadata


class WCEA(MergeableMixin, ChunkEnsemble):
    """Weighted classifier ensemble of Wang et al.: one member per chunk, weighted by its accuracy on the newest chunk.

    Members of an older concept lose their weight with the first chunk of a new one, and regain it if the concept
    returns. Any classifier can be a member. If members are anytime, so is the ensemble: each of them gets the budget.

    Parameters
    ----------
    estimator : classifier, optional
        Trained on each chunk. Default: an entropy decision tree with at least 3 records in a leaf.
    capacity : int, default=12
        Maximum number of members; K in [1]_.
    keep : {"newest", "best"}, default="newest"
        Which members stay when there are more: the newest, and with it the best of the others, or the best of all, as
        printed in [1]_. A new member is weighted by cross-validation on less than its chunk and often seems the worst.
    chunk_size : int, default=100
        Records of a chunk. Larger chunks give better members, smaller ones follow a drift sooner.
    train_within : int, optional
        Records over which the work of a full chunk is spread; its member is used after that many. At most `chunk_size`;
        0 learns every chunk at once, as published, which takes several milliseconds. Default: the record that fills
        a chunk trains its member, the following ones train and evaluate a fold each, and then one evaluates all older
        members that are decision trees, or each one a member of another kind. So a call of `learn_one` trains at most
        one member (more if a chunk has fewer records than steps), and the weights are used after `folds` + 1 records
        or more. With a number, the member of the first chunk is trained at once.
    folds : int, default=5
        Folds of the cross-validation that gives the weight of the newest member, which was trained on its own chunk.
    budget : int, default=200
        Steps per record for calls without a budget of their own, and for the computation of weights. It has an effect
        on anytime members only; others take no steps.
    random_state : int, RandomState or None, default=0
        Seeds members whose own `random_state` or `seed` is None.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels. New ones are appended.
    n_features_in_ : int
        Features of a record.
    n_chunks_ : int
        Chunks learned.
    committee_ : Committee
        The members and their weights, the newest first; the newest itself may be missing under ``keep="best"``.

    Notes
    -----
    On the newest chunk of class shares p(c), with f_i(c | x) the probability that member i gives to the true class:
    w_i = MSE_r - MSE_i, MSE_i = mean (1 - f_i(c | x))^2, MSE_r = sum_c p(c) (1 - p(c))^2 (Eq. 6-8 of [1]_). Members
    with w_i <= 0 do not vote; if no other is left, the newest that is kept decides alone. Probabilities are the
    weighted mean of those of the members that vote.

    A step is one step of every member that votes, so its cost grows with their number. Under a deadline each gets an
    equal share of the time. `predict` may run in many threads while one learns.

    Records are collected until a chunk is full; while the first one fills, a provisional member classifies.

    Every chunk is a fit: use a classifier that is quick to fit, such as a Bayes tree without learned metric and root
    model.

    `save` stores ensembles of classifiers of anystream and of scikit-learn's decision trees. Of a decision tree a
    member keeps only the nodes.

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
    file_version: ClassVar[int] = 3
    copies_mapped_files: ClassVar[bool] = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        capacity: int = 12,
        keep: str = "newest",
        chunk_size: int = 100,
        train_within: int | None = None,
        folds: int = 5,
        budget: int = 200,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.capacity = capacity
        self.keep = keep
        self.chunk_size = chunk_size
        self.train_within = train_within
        self.folds = folds
        self.budget = budget
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------------------------------------

    def default_estimator(self) -> DecisionTreeClassifier:
        """Return an entropy tree with at least 3 records in a leaf."""
        return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=3)

    def check_parameters(self) -> None:
        """Check all parameters."""
        super().check_parameters()
        check_int("capacity", self.capacity, 1)
        check_choice("keep", self.keep, ("newest", "best"))
        check_int("folds", self.folds, 2)
        check_int("budget", self.budget)

    def reset(self, n_features: int) -> None:
        """Start without members."""
        super().reset(n_features)
        self.committee_ = Committee()
        self._newest_chunk = (np.zeros((0, n_features)), np.zeros(0, dtype=np.int32))
        self._newest_kept = True

    def set_provisional(self, member: Member) -> None:
        """Make a committee of the provisional member."""
        self.committee_ = Committee((member,), np.ones(1))

    def chunk_steps(self, chunk: ChunkInProgress) -> Sequence[Callable[[], Any]]:
        """Return the steps: train a member, validate it once per fold, and compute the losses of older members."""
        return self._member_steps(self._older_members(), chunk)

    def use_chunk(self, chunk: ChunkInProgress) -> None:
        """Weight all members on the chunk."""
        self._weight_members(self._older_members(), chunk)

    def _older_members(self) -> Sequence[Member]:
        return self.committee_.members if self.n_chunks_ else ()  # a provisional member is removed

    def _member_steps(self, older: Sequence[Member], chunk: ChunkInProgress) -> Sequence[Callable[[], Any]]:
        folds = range(self._n_folds(chunk))
        validation = [partial(self._fold_loss, chunk, i) for i in folds]
        return [
            partial(self._train, chunk),
            *validation,
            *(partial(self._mean_losses, group, chunk) for group in group_by_cost(older)),
        ]

    def _weight_members(self, older: Sequence[Member], chunk: ChunkInProgress) -> None:
        """Use the results of the steps."""
        n_folds = self._n_folds(chunk)
        newest, fold_losses = chunk.results[0], chunk.results[1 : 1 + n_folds]
        older_losses = [loss for group in chunk.results[1 + n_folds :] for loss in group]
        shares = np.bincount(chunk.numbers) / len(chunk.numbers)
        random_loss = float((shares * (1 - shares) ** 2).sum())  # MSE_r
        newest_loss = sum(fold_losses) / len(chunk.numbers) if n_folds else random_loss
        weights = random_loss - np.array([newest_loss, *older_losses])
        if self.keep == "best":
            kept = sorted(np.argsort(-weights, kind="stable")[: self.capacity].tolist())
        else:
            kept = [0, *sorted((1 + np.argsort(-weights[1:], kind="stable")[: self.capacity - 1]).tolist())]
        members = [newest, *older]
        self.committee_ = Committee(tuple(members[i] for i in kept), weights[kept])
        self._newest_chunk = chunk.records, chunk.numbers
        self._newest_kept = kept[0] == 0

    def _train(self, chunk: ChunkInProgress) -> Member:
        newest = self.new_member(self.n_chunks_)
        newest.fit(chunk.records, chunk.numbers, chunk.n_classes)
        return newest

    def _mean_losses(self, members: Sequence[Member], chunk: ChunkInProgress) -> list[float]:
        losses = (self._losses(member, chunk.records, chunk.numbers, chunk.n_classes) for member in members)
        return [float(each.mean()) for each in losses]

    def _losses(
        self, member: Member, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int
    ) -> NDArray[np.float64]:
        """Return (1 - f(c | x))^2 of each record."""
        proba = member.classify(records, n_classes, Budget(steps=self.budget)).proba
        return np.asarray((1 - proba[np.arange(len(numbers)), numbers]) ** 2)

    def _n_folds(self, chunk: ChunkInProgress) -> int:
        """Return the folds of the cross-validation; 0 if there is one record, which cannot be held out."""
        n_records = len(chunk.numbers)
        return 0 if n_records < 2 else min(self.folds, n_records)

    def _fold_loss(self, chunk: ChunkInProgress, i: int) -> float:
        """Return the sum of the losses of the records in fold `i`, by a member trained on the others."""
        records, numbers, n_classes = chunk.records, chunk.numbers, chunk.n_classes
        held_out = np.arange(len(numbers)) % self._n_folds(chunk) == i
        member = self.new_member(self.n_chunks_)
        member.fit(records[~held_out], numbers[~held_out], n_classes)
        return float(self._losses(member, records[held_out], numbers[held_out], n_classes).sum())

    def merge_states(self, models: Sequence[Self], class_maps: Sequence[NDArray[np.int32]]) -> None:
        """Merge the ensembles of several streams.

        The newest chunks are joined and a new member is trained on them; the older members of all models are weighted
        on the same records and kept as far as the capacity allows. Members cannot vote for a class that they were not
        trained on, so the parts should contain the same classes.
        """
        self.reset(self.n_features_in_)
        n_classes = len(self.classes_)
        models = [copy.copy(model) for model in models]
        for model in models:
            model.finish_chunk()
        learned = [(model, numbers) for model, numbers in zip(models, class_maps, strict=True) if model.n_chunks_]
        if learned:
            self.n_chunks_ = max(model.n_chunks_ for model, _ in learned)
            older = [
                member.renumber(numbers)
                for model, numbers in learned
                for member in model.committee_.members[int(model._newest_kept) :]
            ]
            records = stack_records(model._newest_chunk[0] for model, _ in learned)
            newest = np.concatenate([numbers[model._newest_chunk[1]] for model, numbers in learned])
            chunk = ChunkInProgress(records, newest, n_classes)
            steps = self._member_steps(older, chunk)
            self._weight_members(older, chunk.take_steps(steps, len(steps)))
        for model, class_map in zip(models, class_maps, strict=True):
            for records, numbers in model._pending.blocks:
                self.learn_records(records, class_map[numbers], n_classes)

    # -- classifying -------------------------------------------------------------------------------------------------

    def voters(self) -> Sequence[tuple[Member, float]]:
        """Return the members of the committee that vote."""
        return self.committee_.active

    def classify_records(self, records: NDArray[np.float64], budget: Budget) -> BatchResult:
        """Classify with all members that vote."""
        return self.committee_.classify(records, len(self.classes_), budget)

    def staged_proba(self, records: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Yield the mean probabilities of the members after each stage."""
        return self.committee_.staged_proba(records, len(self.classes_), stages)

    def open_query(self, record: NDArray[np.float64]) -> Query:
        """Open a query of each anytime member."""
        committee = self.committee_
        return CommitteeQuery.open(self.classes_, committee, self.n_chunks_, self.check_record(record))

    def resume_query(self, state: Any) -> Query:
        """Resume a query of each anytime member."""
        if isinstance(state, tuple) and len(state) == 3:
            state = (state[0], self.check_record(self.validate_record(state[1])), state[2])
        return CommitteeQuery.resume(self.classes_, self.committee_, self.n_chunks_, state)

    def records_proba(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities at the default budget."""
        return self.classify_records(records, Budget(steps=self.budget)).proba

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"budget"}

    # -- saving ------------------------------------------------------------------------------------------------------

    def dump_state(self) -> ModelState:
        """Return members, weights, the newest chunk, pending records and counters."""
        metadata, arrays = self.dump_chunks(self.committee_.members)
        records, numbers = self._newest_chunk
        arrays |= {
            "weights": self.committee_.weights,
            "newest_records": pad_columns(records, self.n_features_in_),
            "newest_numbers": numbers,
        }
        return ModelState(metadata | {"newest_kept": self._newest_kept}, arrays)

    def restore_state(self, file: ModelFile, *, mapped: bool) -> None:
        """Restore members, weights, the newest chunk, pending records and counters."""
        n_classes, n_features = len(self.classes_), self.n_features_in_
        members, own = restore_members(file, n_classes=n_classes, n_features=n_features, mapped=mapped)
        specs = {
            "weights": ArraySpec("float64", (len(members),), finite=True),
            "newest_records": ArraySpec("float64", ("newest", n_features)),
            "newest_numbers": ArraySpec("int32", ("newest",), low=0, high=n_classes - 1),
        }
        arrays = self.restore_chunks(own, specs)
        if not 1 <= len(members) <= self.capacity:
            raise ModelFileError(f"{file.path}: has {len(members)} members; save the model again")
        if np.isinf(arrays["newest_records"]).any():
            raise ModelFileError(f"{file.path}: a record holds an infinite value; save the model again")
        self._newest_kept = require_metadata(file, "newest_kept", bool)
        self.committee_ = Committee(members, arrays["weights"].copy())
        self._newest_chunk = arrays["newest_records"].copy(), arrays["newest_numbers"].copy()
