"""Street and Kim's streaming ensemble: one tree per chunk, an unweighted vote, a fixed number of seats."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier

from anystream.anytime.parameters import one_of, whole_number
from anystream.drift.chunks import ChunkEnsemble
from anystream.drift.member_file import member_to_part
from anystream.drift.members import Member
from anystream.model_file import ModelFile, ModelFileError, require_metadata


class SEAEnsemble(ChunkEnsemble):
    """Streaming ensemble algorithm of Street and Kim: members from consecutive chunks vote, each with one voice.

    Parameters
    ----------
    estimator : classifier, optional
        What is trained on each chunk. Default: an unpruned entropy decision tree, near the C4.5 of [1]_.
    capacity : int, default=5
        Seats in the ensemble. The vote turns to a new concept when half the members have learned it, so fewer seats
        follow a drift sooner; [1]_ has 25.
    rule : {"worst", "quality"}, default="worst"
        How a newcomer gets a seat when all are taken. ``"quality"`` is that of [1]_: the member of the previous chunk
        is judged on the present one, together with all others, by how much it helps the vote, and takes the place of
        the lowest if it is better. ``"worst"``: the member of the present chunk always gets the place of the one with
        the fewest right answers on that chunk, which saves a chunk of delay.
    chunk_size : int, default=100
        Records of a chunk.
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
    members_ : tuple of Member
        Those that vote, the oldest first.
    candidate_ : Member or None
        The member of the newest chunk, which waits to be judged under the rule ``"quality"``. It answers only while
        there is no other.

    Notes
    -----
    Quality of a member on a chunk [1]_: the sum over its records, with P1 and P2 the two largest shares of the votes,
    PC that of the true class and PT that of the class which the judged member names, of 1 - |P1 - P2| if member and
    ensemble are right, 1 - |P1 - PC| if the member alone is right, and -(1 - |PC - PT|) if the member is wrong.

    `SEAEnsemble.street_kim` is the algorithm as published. A label that is new gets its first votes from members that
    have seen it: members never learn again.

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

    def __init__(
        self,
        estimator: Any = None,
        *,
        capacity: int = 5,
        rule: str = "worst",
        chunk_size: int = 100,
        seed: int = 0,
    ) -> None:
        self.estimator = estimator
        self.capacity = capacity
        self.rule = rule
        self.chunk_size = chunk_size
        self.seed = seed

    @classmethod
    def street_kim(cls, **changes: Any) -> SEAEnsemble:
        """The algorithm as published [1]_: 25 seats, given by quality.

        Parameters
        ----------
        **changes
            Parameters that differ.
        """
        published: dict[str, Any] = {"capacity": 25, "rule": "quality"}
        return cls(**(published | changes))

    def _begin(self, n_features: int) -> None:
        whole_number("capacity", self.capacity, 1)
        one_of("rule", self.rule, ("worst", "quality"))
        super()._begin(n_features)
        self.members_: tuple[Member, ...] = ()
        self.candidate_: Member | None = None

    def _default_estimator(self) -> BaseEstimator:
        return DecisionTreeClassifier(criterion="entropy")

    def _answer_provisionally(self, member: Member) -> None:
        self.candidate_ = member

    def _learn_chunk(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        newest = self._new_member()
        newest.fit(rows, numbers, n_classes)
        if self.rule == "worst":
            self._seat_the_newest(newest, rows, numbers, n_classes)
        else:
            if self.n_chunks_ and self.candidate_ is not None:
                self._seat_by_quality(self.candidate_, rows, numbers, n_classes)
            self.candidate_ = newest

    def _seat_the_newest(
        self, newest: Member, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int
    ) -> None:
        self.candidate_ = None
        members = list(self.members_)
        if len(members) == self.capacity:
            right = [(_said(member, rows, n_classes) == numbers).sum() for member in members]
            members.pop(int(np.argmin(right)))
        self.members_ = (*members, newest)

    def _seat_by_quality(
        self, candidate: Member, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int
    ) -> None:
        members = list(self.members_)
        if len(members) < self.capacity:
            self.members_ = (*members, candidate)
            return
        said = np.array([_said(member, rows, n_classes) for member in (*members, candidate)])
        shares = _vote_shares(said[:-1], n_classes)
        worth = [quality(shares, voice, numbers) for voice in said]
        worst = int(np.argmin(worth[:-1]))
        if worth[-1] > worth[worst]:
            members.pop(worst)
            self.members_ = (*members, candidate)

    def _proba(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        voters = self.members_ or (() if self.candidate_ is None else (self.candidate_,))
        if not voters:
            return np.full((len(rows), n_classes), 1.0 / n_classes)
        return _vote_shares(np.array([_said(member, rows, n_classes) for member in voters]), n_classes)

    # -- keeping -----------------------------------------------------------------------------------------------------

    def _learned(self) -> tuple[dict[str, int], dict[str, NDArray[Any]], list[ModelFile]]:
        facts, arrays, _ = super()._learned()
        waiting = () if self.candidate_ is None else (self.candidate_,)
        parts = [member_to_part(member) for member in self.members_ + waiting]
        return facts | {"n_waiting": len(waiting)}, arrays, parts

    def _recall(self, file: ModelFile, parts: list[ModelFile], *, mapped: bool) -> None:
        members = self._members_of(parts, mapped=mapped)
        self._recall_chunks(file, {})
        seated = len(members) - require_metadata(file, "n_waiting", int, low=0, high=min(1, len(members)))
        if not members or seated > self.capacity:
            raise ModelFileError(f"{file.path}: has {seated} voting members; save the model again")
        self.members_ = tuple(members[:seated])
        self.candidate_ = members[-1] if seated < len(members) else None


def quality(shares: NDArray[np.float64], said: NDArray[np.intp], truth: NDArray[np.int32]) -> float:
    """How much a member helps an ensemble on a chunk.

    Parameters
    ----------
    shares : array of shape (n_records, n_classes)
        The shares of the ensemble's votes.
    said : array of shape (n_records,)
        The classes that the member names.
    truth : array of shape (n_records,)
        The true classes.
    """
    each = np.arange(len(truth))
    ranked = np.sort(np.pad(shares, ((0, 0), (1, 0))), axis=1)  # a class of no votes, should there be but one
    first, second = ranked[:, -1], ranked[:, -2]
    true_share, said_share = shares[each, truth], shares[each, said]
    right, together = said == truth, shares.argmax(axis=1) == truth
    gain = np.where(together, 1 - np.abs(first - second), 1 - np.abs(first - true_share))
    return float(np.where(right, gain, -(1 - np.abs(true_share - said_share))).sum())


def _said(member: Member, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.intp]:
    return np.asarray(member.proba(rows, n_classes).argmax(axis=1))


def _vote_shares(said: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """The share of votes of each class; `said` has shape (n_members, n_records)."""
    votes = np.zeros((said.shape[1], n_classes))
    for voice in said:
        votes[np.arange(len(voice)), voice] += 1
    return votes / len(said)
