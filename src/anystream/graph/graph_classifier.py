"""Base of classifiers over a native graph: classifying, copying and pickling."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.anytime.query import Query
from anystream.estimators.classifier import TrainedClassifier
from anystream.estimators.merging import MergeableMixin
from anystream.estimators.native_batch import fill_batch, fill_stages
from anystream.estimators.parameters import resolve_threads
from anystream.estimators.saving import SaveableMixin
from anystream.graph.query import GraphQuery, unpack_state


class GraphClassifier(MergeableMixin, SaveableMixin, TrainedClassifier, abstract=True):
    """Classifier over the native graph in `graph_`.

    The native graph and everything else that is learned never change in place: learning replaces them. So several
    threads can classify while one learns.
    """

    n_jobs: int | None
    graph_: _native.AssociatedGraph

    derived_attributes: ClassVar[tuple[str, ...]] = ("graph_",)
    """Attributes that `rebuild_graph` sets; pickles leave them out."""

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    @abstractmethod
    def rebuild_graph(self) -> None:
        """Set `graph_` and the other derived attributes from what was learned."""

    def native_calibration(self) -> _native.Calibration | None:
        """Return how probabilities are calibrated; None: raw."""
        return None

    # -- classifying -------------------------------------------------------------------------------------------------

    def classify_records(self, records: NDArray[np.float64], budget: Budget) -> BatchResult:
        """Classify in one native call on all threads."""
        return self.classify_by_graph(self.graph_, self.native_calibration(), records, budget)

    def classify_by_graph(
        self,
        graph: _native.AssociatedGraph,
        calibration: _native.Calibration | None,
        records: NDArray[np.float64],
        budget: Budget,
    ) -> BatchResult:
        """Return the result of a graph, in one native call."""
        threads = resolve_threads(self.n_jobs)
        fill = partial(graph.answer, records, *budget.limits(), threads, calibration=calibration)
        return fill_batch(len(records), graph.classes, fill)

    def staged_proba(self, records: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Classify in one native call that keeps the probabilities of every stage."""
        graph = self.graph_
        threads, calibration = resolve_threads(self.n_jobs), self.native_calibration()
        fill = partial(graph.answer_in_stages, records, stages, threads, calibration=calibration)
        return fill_stages(len(records), len(stages), graph.classes, fill)

    def open_query(self, record: NDArray[np.float64]) -> Query:
        """Open a native query."""
        return GraphQuery(self.classes_, self.graph_.query(record), self.native_calibration())

    def resume_query(self, state: Any) -> Query:
        """Open a native query and repeat its steps."""
        record, steps = unpack_state(state)
        native = self.graph_.query(record)
        if native.refine(steps) != steps:
            raise ValueError(f"not the state of a query of this model: it has {steps} steps, the graph allows fewer")
        return GraphQuery(self.classes_, native, self.native_calibration())

    # -- copies ------------------------------------------------------------------------------------------------------

    def snapshot(self) -> Self:
        """Return the model as it is now; the two share everything, since learning replaces and never changes it."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(vars(self))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in self.derived_attributes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "classes_"):
            self.rebuild_graph()
