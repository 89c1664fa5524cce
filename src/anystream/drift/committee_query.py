"""Query of a committee: one query of each anytime member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.query import Query
from anystream.drift.committee import Committee
from anystream.drift.ensemble_members import AnytimeMember


class CommitteeQuery(Query):
    """One record that the active members of a committee classify. Members that are not anytime vote when it is opened.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        Class labels.
    committee : Committee
        Members and weights.
    n_chunks : int
        Chunks that the model had learned when the query was opened.
    record : array of shape (n_features,)
        The record.
    queries : sequence of Query or None
        One for each active member; None for a member that is not anytime.
    """

    __slots__ = ("_classes", "_committee", "_n_chunks", "_queries", "_record", "_votes")

    def __init__(
        self,
        classes: NDArray[Any],
        committee: Committee,
        n_chunks: int,
        record: NDArray[np.float64],
        queries: Sequence[Query | None],
    ) -> None:
        self._classes = classes
        self._committee = committee
        self._n_chunks = n_chunks
        self._record = record
        self._queries = queries
        self._votes = [
            None if isinstance(member, AnytimeMember) else member.proba(record[np.newaxis], len(classes))[0]
            for member, _ in committee.active
        ]

    @classmethod
    def open(cls, classes: NDArray[Any], committee: Committee, n_chunks: int, record: NDArray[np.float64]) -> Self:
        """Return a query at budget 0."""
        queries = [
            member.open_query(record) if isinstance(member, AnytimeMember) else None for member, _ in committee.active
        ]
        return cls(classes, committee, n_chunks, record, queries)

    @classmethod
    def resume(cls, classes: NDArray[Any], committee: Committee, n_chunks: int, state: Any) -> Self:
        """Return a query from its `state`."""
        if not (isinstance(state, tuple) and len(state) == 3 and isinstance(state[2], list)):
            raise TypeError(f"state is a {type(state).__name__}; use the `state` of a query of this model")
        opened_at, record, states = state
        active = committee.active
        if type(opened_at) is not int:
            raise TypeError(f"state begins with {opened_at!r}; use the `state` of a query of this model")
        if opened_at != n_chunks or len(states) != len(active):
            raise ValueError(
                f"the query was opened when the model had learned {opened_at} chunks, now it has learned {n_chunks}; "
                "resume it with a snapshot of that time, or open a new query"
            )
        queries = [
            member.resume_query(member_state) if isinstance(member, AnytimeMember) else None
            for (member, _), member_state in zip(active, states, strict=True)
        ]
        return cls(classes, committee, n_chunks, record, queries)

    def refine(self, budget: BudgetLike = None) -> Self:
        """Give every member all the steps and an equal share of the time; return the query itself."""
        limits = Budget.of(budget).start()
        queries = self._member_queries()
        for i, query in enumerate(queries):
            query.refine(limits.share(1 / (len(queries) - i)))
        return self

    @property
    def label(self) -> Any:
        """The most probable class so far."""
        return self._classes[self.proba.argmax()]

    @property
    def proba(self) -> NDArray[np.float64]:
        """Probabilities of the classes so far, in the order of the classifier's `classes_`."""
        votes = []
        for (member, _), query, vote in zip(self._committee.active, self._queries, self._votes, strict=True):
            if query is not None and isinstance(member, AnytimeMember):
                vote = np.zeros(len(self._classes))
                vote[member.class_numbers()] = query.proba
            votes.append(np.asarray(vote))
        return self._committee.average(votes, (len(self._classes),))

    @property
    def steps(self) -> int:
        """Maximum number of steps that a member has taken."""
        return max((query.steps for query in self._member_queries()), default=0)

    @property
    def certified(self) -> bool:
        """Whether no further step could change the label of any member."""
        return all(query.certified for query in self._member_queries())

    @property
    def exhausted(self) -> bool:
        """Whether no member has a step left."""
        return all(query.exhausted for query in self._member_queries())

    @property
    def state(self) -> tuple[int, NDArray[np.float64], list[Any]]:
        """The number of chunks that the model had learned, the record, and the state of each member's query."""
        return self._n_chunks, self._record, [None if query is None else query.state for query in self._queries]

    def _member_queries(self) -> list[Query]:
        return [query for query in self._queries if query is not None]

    def __reduce__(self) -> tuple[Any, ...]:
        # The committee instead of the model, which may have learned further chunks since.
        return CommitteeQuery.resume, (self._classes, self._committee, self._n_chunks, self.state)
