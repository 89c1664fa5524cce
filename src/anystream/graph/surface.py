"""What classifiers on graphs share: asking, pickling, counting bytes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.anytime.base import AnytimeClassifierMixin
from anystream.anytime.budget import Budget
from anystream.anytime.native_answer import answer_batch, answer_in_stages
from anystream.anytime.query import Query
from anystream.graph.query import GraphQuery, unpack_state


class GraphClassifierMixin(AnytimeClassifierMixin):
    """A classifier whose answers come from the graph in `graph_`.

    The graph is never changed: learning puts another one in its place. So many threads may ask while one learns.
    """

    graph_: _native.AssociatedGraph

    @abstractmethod
    def _make_graph(self) -> _native.AssociatedGraph:
        """The graph to ask, from what was learned."""

    def _answer(
        self, queries: NDArray[np.float64], budget: Budget
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        graph = self.graph_
        fill = partial(graph.answer, queries, *budget.limits(), self._threads())
        return answer_batch(len(queries), graph.classes, fill)

    def _staged_proba(self, queries: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        graph = self.graph_
        fill = partial(graph.answer_in_stages, queries, stages, self._threads())
        return answer_in_stages(len(queries), len(stages), graph.classes, fill)

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
