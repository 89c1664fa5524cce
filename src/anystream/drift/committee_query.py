"""One record before a committee."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.query import Query
from anystream.drift.committee import Committee, share_of
from anystream.drift.members import AnytimeMember


class CommitteeQuery(Query):
    """One query of each member that has a say; those that are not anytime have answered at once."""

    __slots__ = ("_age", "_classes", "_committee", "_queries", "_row", "_votes")

    def __init__(
        self, classes: NDArray[Any], committee: Committee, age: int, row: NDArray[np.float64], queries: list[Any]
    ) -> None:
        self._classes = classes
        self._committee = committee
        self._age = age
        self._row = row
        self._queries = queries  # None where the member is not anytime
        self._votes = [
            None if isinstance(member, AnytimeMember) else member.proba(row[np.newaxis], len(classes))[0]
            for member, _ in committee.speaking
        ]

    @classmethod
    def open(cls, classes: NDArray[Any], committee: Committee, age: int, row: NDArray[np.float64]) -> Self:
        """A query at budget 0."""
        queries = [
            member.estimator.query(row[: member.width]) if isinstance(member, AnytimeMember) else None
            for member, _ in committee.speaking
        ]
        return cls(classes, committee, age, row, queries)

    @classmethod
    def resume(cls, classes: NDArray[Any], committee: Committee, age: int, state: Any) -> Self:
        """A query from its `state`."""
        if not (isinstance(state, tuple) and len(state) == 3 and isinstance(state[2], list)):
            raise TypeError(f"state is a {type(state).__name__}; use the `state` of a query of this model")
        opened_at, row, states = state
        speaking = committee.speaking
        if opened_at != age or len(states) != len(speaking):
            raise ValueError(
                f"the query was opened when the model had learned {opened_at} chunks, now it has learned {age}; "
                "resume it with the model as it was, or ask anew"
            )
        queries = [
            member.estimator.query(state=kept) if isinstance(member, AnytimeMember) else None
            for (member, _), kept in zip(speaking, states, strict=True)
        ]
        return cls(classes, committee, age, row, queries)

    def refine(self, budget: BudgetLike = None) -> Self:
        """Pass `budget` on: all the steps to every member, the time in equal shares; return the query itself."""
        begun = Budget.of(budget).begin()
        live = self._live()
        for asked, query in enumerate(live):
            query.refine(share_of(begun, len(live) - asked))
        return self

    @property
    def label(self) -> Any:
        """The likeliest class so far."""
        return self._classes[self.proba.argmax()]

    @property
    def proba(self) -> NDArray[np.float64]:
        """Probabilities of the classes so far, in the order of the classifier's `classes_`."""
        votes = []
        for (member, _), query, vote in zip(self._committee.speaking, self._queries, self._votes, strict=True):
            if vote is None:
                vote = np.zeros(len(self._classes))
                vote[member.classes()] = query.proba
            votes.append(vote)
        return self._committee.average(votes, (len(self._classes),))

    @property
    def steps(self) -> int:
        """Steps of the member that took most."""
        return max((query.steps for query in self._live()), default=0)

    @property
    def certified(self) -> bool:
        """Whether no member's answer can change any more."""
        return all(query.certified for query in self._live())

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to do for any member."""
        return all(query.exhausted for query in self._live())

    @property
    def state(self) -> tuple[int, NDArray[np.float64], list[Any]]:
        """The age of the model, the record, and the state of each member's query."""
        return self._age, self._row, [None if query is None else query.state for query in self._queries]

    def _live(self) -> list[Query]:
        return [query for query in self._queries if query is not None]

    def __reduce__(self) -> tuple[Any, ...]:
        return _resumed, (self._classes, self._committee, self._age, self.state)


def _resumed(classes: NDArray[Any], committee: Committee, age: int, state: Any) -> CommitteeQuery:
    return CommitteeQuery.resume(classes, committee, age, state)
