"""What KAOGINC has learned: the principal graph, which may still be computed, and the open batch."""

from __future__ import annotations

from anystream import _native
from anystream.estimators.calibration import Calibration
from anystream.graph.batch import Batch
from anystream.graph.learning import learning_steps
from anystream.graph.native_graph import PrincipalIndex
from anystream.graph.principal import PrincipalGraph
from anystream.graph.recipe import StreamRecipe
from anystream.graph.steps import Steps


class PrincipalInProgress:
    """Principal graph after one more batch and its index, computed in steps.

    One thread at a time takes steps; any thread may ask for the graph or the index, which takes all steps that are left
    for it. Both depend on the arguments alone, so it does not matter who takes which step, nor when.

    Parameters
    ----------
    before : PrincipalGraph
        The graph before the batch.
    batch : Batch
        The batch.
    recipe : StreamRecipe
        Parameters.
    """

    __slots__ = ("_calibration", "_index", "_inputs", "_is_whole", "_left", "_recipe", "_result")

    def __init__(self, before: PrincipalGraph, batch: Batch, recipe: StreamRecipe) -> None:
        self._recipe = recipe
        self._is_whole = False  # whether the graph was complete from the start
        self._inputs: tuple[PrincipalGraph, Batch] | None = (before, batch)
        self._left: list[Steps[None]] = []  # empty before the first step, and while a thread takes steps
        self._result: PrincipalGraph | None = None
        self._index: PrincipalIndex | None = None
        self._calibration: Calibration | None = None

    @classmethod
    def done(
        cls, graph: PrincipalGraph, recipe: StreamRecipe, index: PrincipalIndex | None = None
    ) -> PrincipalInProgress:
        """Return a graph that is complete; `index` is that of a graph with equal components, metric and views.

        Without an index it is built when it is needed first.
        """
        complete = cls.__new__(cls)
        complete._recipe, complete._is_whole, complete._inputs, complete._left = recipe, True, None, []
        complete._index = index
        complete._publish(graph)
        return complete

    def _publish(self, graph: PrincipalGraph) -> PrincipalGraph:
        self._calibration = graph.probabilities.calibration(moments=graph.selection.best.moments)
        self._result = graph
        self._inputs = None  # frees the batch
        return graph

    def _steps(self) -> Steps[None]:
        """Take the steps that are left, from the start of the graph or of its index."""
        inputs, graph = self._inputs, self._result
        if graph is None:
            assert inputs is not None  # it is freed after the result is set
            graph = self._publish((yield from learning_steps(*inputs, self._recipe)))
        self._index = yield from PrincipalIndex.building_steps(graph, self._recipe)

    def advance(self, weight: int, *, graph_only: bool = False) -> None:
        """Take steps that weigh as much, or all that are left; `graph_only` ends when the graph is complete."""
        if self.is_done:
            return
        try:
            steps = self._left.pop()
        except IndexError:
            steps = self._steps()
        try:
            while weight > 0 and not (graph_only and self._result is not None):
                weight -= next(steps)
        except StopIteration:
            return
        self._left.append(steps)

    @property
    def is_done(self) -> bool:
        """Whether no step is left."""
        return self._is_whole or self._index is not None

    def result(self) -> PrincipalGraph:
        """Return the graph; take the steps that are left for it."""
        while True:
            result = self._result
            if result is not None:
                return result
            self.advance(2**62, graph_only=True)

    @property
    def calibration(self) -> Calibration | None:
        """The calibration of the view that classifies."""
        self.result()
        return self._calibration

    def index(self) -> PrincipalIndex:
        """Return the native graph of the principal graph; take the steps that are left."""
        while True:
            index = self._index
            if index is not None:
                return index
            if self._is_whole:
                self._index = PrincipalIndex.build(self.result(), self._recipe)
            self.advance(2**62)


class LearnedStream:
    """Principal graph and open batch, and the graph to classify with, built when it is needed first.

    Parameters
    ----------
    principal : PrincipalInProgress
        What was learned from full batches.
    open_batch : Batch
        The records since.
    recipe : StreamRecipe
        Parameters.
    before : LearnedStream, optional
        The stream before the batch that `principal` still learns.
    """

    __slots__ = ("_before", "_graph", "_recipe", "open_batch", "principal")

    def __init__(
        self,
        principal: PrincipalInProgress,
        open_batch: Batch,
        recipe: StreamRecipe,
        before: LearnedStream | None = None,
    ) -> None:
        self.principal = principal
        self.open_batch = open_batch
        self._recipe = recipe
        self._before = before
        self._graph: _native.AssociatedGraph | None = None

    def ready(self) -> LearnedStream:
        """Return the stream itself, or the one before the last full batch while that is learned: none has to wait."""
        before = self._before  # read once: another thread may free it
        if before is None or self.principal.is_done:
            self._before = None
            return self
        return before

    @property
    def graph(self) -> _native.AssociatedGraph:
        """The graph to classify with: the principal graph and the optimal graph of the open batch."""
        graph = self._graph
        if graph is None:
            index = self.principal.index()
            graph = index.with_open_batch(self.open_batch, self.principal.result(), self._recipe)
            self._graph = graph
        return graph
