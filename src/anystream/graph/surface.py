"""What classifiers on graphs share: asking, pickling, counting bytes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.anytime.base import AnytimeClassifierMixin
from anystream.anytime.budget import Budget
from anystream.anytime.query import Query
from anystream.graph.query import GraphQuery, unpack_state


class GraphClassifierMixin(AnytimeClassifierMixin):
    """A classifier whose answers come from the graph in `graph_`.

    The graph is never changed: learning puts another one in its place. So many threads may ask while one learns.
    """

    n_jobs: int | None
    graph_: _native.AssociatedGraph

    @abstractmethod
    def _make_graph(self) -> _native.AssociatedGraph:
        """The graph to ask, from what was learned."""

    def _answer(
        self, queries: NDArray[np.float64], budget: Budget
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        graph = self.graph_
        proba = np.empty((len(queries), graph.classes))
        steps = np.empty(len(queries), dtype=np.int64)
        exhausted = np.empty(len(queries), dtype=np.uint8)
        graph.answer(queries, *budget.limits(), self._threads(), proba, steps, exhausted)
        return proba, steps, exhausted.astype(np.bool_)

    def _staged_proba(self, queries: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        graph = self.graph_
        out = np.empty((len(queries), len(stages), graph.classes))
        graph.answer_in_stages(queries, stages, self._threads(), out.reshape(-1))
        for stage in range(len(stages)):
            yield out[:, stage]

    def _open_query(self, row: NDArray[np.float64]) -> Query:
        return GraphQuery(self, self.graph_.query(row))

    def _resume_query(self, state: Any) -> Query:
        record, steps = unpack_state(state)
        native = self.graph_.query(record)
        native.refine(steps)
        return GraphQuery(self, native)

    def __getstate__(self) -> dict[str, Any]:
        state = cast("dict[str, Any]", super().__getstate__())
        return {name: value for name, value in state.items() if name != "graph_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]  # BaseEstimator comes later in the MRO
        if hasattr(self, "classes_"):
            self.graph_ = self._make_graph()

    def _threads(self) -> int:
        """How many threads native code may use; 0 is one per core."""
        if self.n_jobs is None or self.n_jobs == -1:
            return 0
        if isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, Integral) or self.n_jobs < 1:
            raise ValueError(f"n_jobs is {self.n_jobs!r}; use a whole number from 1 on, or None for one per core")
        return int(self.n_jobs)

    def _column_names(self) -> dict[Any, int]:
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return {name: column for column, name in enumerate(names)}


def one_of(name: str, value: object, allowed: tuple[Any, ...]) -> Any:
    """A parameter that is one of a few values."""
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in allowed):
        raise ValueError(f"{name} is {value!r}; use one of {', '.join(map(repr, allowed))}")
    return value
