"""Street and Kim's streaming ensemble: one tree per chunk, an unweighted vote, a fixed number of members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from anystream.drift.chunk_ensemble import ChunkEnsemble
from anystream.drift.chunk_in_progress import ChunkInProgress
from anystream.drift.ensemble_members import Member, group_by_cost
from anystream.drift.ensemble_members.file import restore_members
from anystream.estimators.parameters import check_choice, check_int
from anystream.estimators.saving import ModelState
from anystream.model_file import ModelFile, ModelFileError, require_metadata


class SEAEnsemble(ChunkEnsemble):
    """Streaming ensemble algorithm of Street and Kim: members from consecutive chunks vote, each with one vote.

    Parameters
    ----------
    estimator : classifier, optional
        Trained on each chunk. Default: an unpruned entropy decision tree, close to the C4.5 of [1]_.
    capacity : int, default=5
        Maximum number of members. The vote follows a new concept when half the members have learned it, so a smaller
        ensemble follows a drift sooner; [1]_ has 25.
    rule : {"worst", "quality"}, default="worst"
        How a new member is added when the ensemble is full. ``"quality"`` is the rule of [1]_: the member of the
        previous chunk is evaluated on the present one, together with all others, by how much it helps the vote, and
        replaces the lowest if it is better. ``"worst"``: the member of the present chunk always replaces the one with
        the fewest correct predictions on that chunk, which saves a chunk of delay.
    chunk_size : int, default=100
        Records of a chunk.
    train_within : int, optional
        Records over which the work of a full chunk is spread; its member is used after that many. At most `chunk_size`;
        0 learns every chunk at once, as published. Default: the record that fills a chunk trains its member, and the
        next one evaluates all members that are decision trees, or each one a member of another kind. So a call of
        `learn_one` trains at most one member. With a number, the member of the first chunk is trained at once.
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
    members_ : tuple of Member
        The members that vote, the oldest first.
    candidate_ : Member or None
        The member of the newest chunk, which is evaluated on the next one under the rule ``"quality"``. It classifies
        only while there are no members.

    Notes
    -----
    Quality of a member on a chunk [1]_: the sum over its records, with P1 and P2 the two largest shares of the votes,
    PC that of the true class and PT that of the class which the evaluated member predicts, of 1 - |P1 - P2| if member
    and ensemble are right, 1 - |P1 - PC| if the member alone is right, and -(1 - |PC - PT|) if the member is wrong.

    There is no `merge`: members are not weighted and no records are kept to judge the members of several models by.

    `SEAEnsemble.street_kim` is the algorithm as published. A new label gets its first votes from members that were
    trained on it: members do not learn further records.

    References
    ----------
    .. [1] Street, Kim, "A streaming ensemble algorithm (SEA) for large-scale classification", KDD 2001.

    Examples
    --------
    >>> from anystream.streams import SEA
    >>> stream = SEA(concepts=(7, 9), drifts=(1000,), seed=1)
    >>> model = SEAEnsemble(chunk_size=100).fit(*stream.take(2000))
    >>> model.score(*stream.take(500, start=2000)) > 0.9
    True
    """

    kind: ClassVar[str] = "sea-ensemble"
    file_version: ClassVar[int] = 2
    copies_mapped_files: ClassVar[bool] = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        capacity: int = 5,
        rule: str = "worst",
        chunk_size: int = 100,
        train_within: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.capacity = capacity
        self.rule = rule
        self.chunk_size = chunk_size
        self.train_within = train_within
        self.random_state = random_state

    @classmethod
    def street_kim(cls, **changes: Any) -> SEAEnsemble:
        """Return the algorithm as published [1]_: 25 members, replaced by quality, and chunks learned at once.

        Parameters
        ----------
        **changes
            Parameters that differ.
        """
        published: dict[str, Any] = {"capacity": 25, "rule": "quality", "train_within": 0}
        return cls(**(published | changes))

    # -- learning ----------------------------------------------------------------------------------------------------

    def default_estimator(self) -> DecisionTreeClassifier:
        """Return an unpruned entropy tree."""
        return DecisionTreeClassifier(criterion="entropy")

    def check_parameters(self) -> None:
        """Check all parameters."""
        super().check_parameters()
        check_int("capacity", self.capacity, 1)
        check_choice("rule", self.rule, ("worst", "quality"))

    def reset(self, n_features: int) -> None:
        """Start without members."""
        super().reset(n_features)
        self.members_: tuple[Member, ...] = ()
        self.candidate_: Member | None = None

    def set_provisional(self, member: Member) -> None:
        """Make the provisional member the candidate."""
        self.candidate_ = member

    def chunk_steps(self, chunk: ChunkInProgress) -> Sequence[Callable[[], Any]]:
        """Return the steps: train a member; if the ensemble is full, let those that are evaluated predict."""
        groups = group_by_cost(self._evaluated_members())
        return [
            partial(self._train, chunk),
            *(partial(_predictions, group, chunk.records, chunk.n_classes) for group in groups),
        ]

    def use_chunk(self, chunk: ChunkInProgress) -> None:
        """Add the member of the chunk, or the one of the previous chunk, by the rule."""
        newest = chunk.results[0]
        predictions = np.concatenate(chunk.results[1:]) if len(chunk.results) > 1 else np.zeros((0, 0), dtype=np.intp)
        if self.rule == "worst":
            self.members_ = (*self.members_, newest)
            if len(predictions):
                n_correct = (predictions == chunk.numbers).sum(axis=1)
                self.members_ = _without(self.members_, int(np.argmin(n_correct)))
            self.candidate_ = None
            return
        if self.n_chunks_ and self.candidate_ is not None:
            lowest = _lowest_quality(predictions, chunk.numbers, chunk.n_classes) if len(predictions) else None
            self.members_ = (*self.members_, self.candidate_)
            if lowest is not None:
                self.members_ = _without(self.members_, lowest)
        self.candidate_ = newest

    def _evaluated_members(self) -> tuple[Member, ...]:
        """Return the members of which one is to be removed, the candidate last; none if there is a free place."""
        if len(self.members_) < self.capacity:
            return ()
        if self.rule == "worst":
            return self.members_
        return self.members_ if self.candidate_ is None else (*self.members_, self.candidate_)

    def _train(self, chunk: ChunkInProgress) -> Member:
        newest = self.new_member(self.n_chunks_)
        newest.fit(chunk.records, chunk.numbers, chunk.n_classes)
        return newest

    # -- classifying -------------------------------------------------------------------------------------------------

    def voters(self) -> Sequence[tuple[Member, float]]:
        """Return the members, or the candidate while there are none; all have the same weight."""
        return [(member, 1.0) for member in self.members_ or (() if self.candidate_ is None else (self.candidate_,))]

    def records_proba(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shares of the votes."""
        voters = [member for member, _ in self.voters()]
        n_classes = len(self.classes_)
        if not voters:
            return np.full((len(records), n_classes), 1.0 / n_classes)
        return _vote_shares(_predictions(voters, records, n_classes), n_classes)

    # -- saving ------------------------------------------------------------------------------------------------------

    def dump_state(self) -> ModelState:
        """Return members, candidate, pending records and counters."""
        candidates = () if self.candidate_ is None else (self.candidate_,)
        metadata, arrays = self.dump_chunks(self.members_ + candidates)
        return ModelState(metadata | {"n_candidates": len(candidates)}, arrays)

    def restore_state(self, file: ModelFile, *, mapped: bool) -> None:
        """Restore members, candidate, pending records and counters."""
        members, own = restore_members(
            file, n_classes=len(self.classes_), n_features=self.n_features_in_, mapped=mapped
        )
        self.restore_chunks(own, {})
        n_voting = len(members) - require_metadata(own, "n_candidates", int, low=0, high=min(1, len(members)))
        if not members or n_voting > self.capacity:
            raise ModelFileError(f"{file.path}: has {n_voting} voting members; save the model again")
        self.members_ = members[:n_voting]
        self.candidate_ = members[-1] if n_voting < len(members) else None


def quality(shares: NDArray[np.float64], predicted: NDArray[np.intp], truth: NDArray[np.int32]) -> float:
    """Return how much a member helps an ensemble on a chunk.

    Parameters
    ----------
    shares : array of shape (n_records, n_classes)
        Shares of the ensemble's votes.
    predicted : array of shape (n_records,)
        Classes that the member predicts.
    truth : array of shape (n_records,)
        True classes.
    """
    each = np.arange(len(truth))
    ranked = np.sort(np.pad(shares, ((0, 0), (1, 0))), axis=1)  # a class without votes, in case there is only one
    first, second = ranked[:, -1], ranked[:, -2]
    true_share, predicted_share = shares[each, truth], shares[each, predicted]
    right, ensemble_right = predicted == truth, shares.argmax(axis=1) == truth
    gain = np.where(ensemble_right, 1 - np.abs(first - second), 1 - np.abs(first - true_share))
    return float(np.where(right, gain, -(1 - np.abs(true_share - predicted_share))).sum())


def _lowest_quality(predictions: NDArray[np.intp], numbers: NDArray[np.int32], n_classes: int) -> int:
    """Return the member to be removed: the lowest of the ensemble, or the candidate, the last, if it is not better."""
    shares = _vote_shares(predictions[:-1], n_classes)
    qualities = [quality(shares, predicted, numbers) for predicted in predictions]
    worst = int(np.argmin(qualities[:-1]))
    return len(qualities) - 1 if qualities[-1] <= qualities[worst] else worst


def _without(members: tuple[Member, ...], position: int) -> tuple[Member, ...]:
    return members[:position] + members[position + 1 :]


def _predictions(members: Sequence[Member], records: NDArray[np.float64], n_classes: int) -> NDArray[np.intp]:
    """Return the predicted class numbers; shape (n_members, n_records)."""
    return np.array([member.predict(records, n_classes) for member in members])


def _vote_shares(predictions: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Return the share of votes of each class; `predictions` has shape (n_members, n_records)."""
    votes = np.zeros((predictions.shape[1], n_classes))
    for predicted in predictions:
        votes[np.arange(len(predicted)), predicted] += 1
    return votes / len(predictions)
