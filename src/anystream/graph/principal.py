"""Principal graph: everything that KAOGINC has learned from whole batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anystream.graph.array_types import Floats, Mask, Numbers
from anystream.graph.batch import Batch
from anystream.graph.change import NO_BALANCE, Balance
from anystream.graph.components import Components, build_components
from anystream.graph.metric import Metric
from anystream.graph.moments import Moments
from anystream.graph.probability_test import ProbabilityTest
from anystream.graph.recipe import StreamRecipe
from anystream.graph.views import View, ViewSelection


@dataclass(frozen=True, slots=True)
class PrincipalGraph:
    """Components, metric and errors of the views after some batches.

    Nothing in it is changed in place; `anystream.graph.learning.learn_batch` returns the graph after one more batch.
    So a graph can be used for classification while its successor is being built.

    Parameters
    ----------
    components : Components
        G_P, the oldest first.
    metric : Metric
        Scales and weights of the features.
    selection : ViewSelection
        The errors of the views.
    probabilities : ProbabilityTest
        The losses of the candidates for a calibration.
    recent_errors : tuple of float
        The errors of the batches since the last change, at most 20.
    transferred, older : Balance
        The whole graph compared with the components built since the last change, and with those of the last batches.
    n_batches, n_records : int
        Number of batches and records learned so far.
    n_classified : int
        Number of records that `count_classified` has counted.
    """

    components: Components
    metric: Metric
    selection: ViewSelection
    probabilities: ProbabilityTest
    recent_errors: tuple[float, ...] = ()
    transferred: Balance = NO_BALANCE
    older: Balance = NO_BALANCE
    n_batches: int = 0
    n_records: int = 0
    n_classified: int = 0

    @classmethod
    def empty(cls, n_features: int, views: tuple[View, ...]) -> PrincipalGraph:
        """Return the graph before the first batch."""
        components, metric = Components.empty(n_features), Metric.empty(n_features)
        return cls(components, metric, ViewSelection.start(views), ProbabilityTest.start())

    def n_counted(self, recipe: StreamRecipe) -> int:
        """Return the number of records so far of those that count for tau."""
        return self.n_classified if recipe.tau_counts == "classified" else self.n_records

    def scale(self, recipe: StreamRecipe, view: View | None = None) -> Floats:
        """Return the factors of the features in distances, for one view or, by default, the best view of the graph."""
        if recipe.metric == "plain":
            return np.ones(self.components.points.shape[1])
        return self.metric.scale(weighted=(self.selection.best_graph_view if view is None else view).weighted)

    def batch_components(self, batch: Batch, scale: Floats, recipe: StreamRecipe) -> Components:
        """Return the optimal graph of a batch, numbered as the next batch of this graph; empty if it has no records."""
        if len(batch) == 0:
            return Components.empty(batch.points.shape[1])
        return build_components(
            batch.points,
            batch.labels,
            scale,
            recipe.components,
            batch_number=self.n_batches,
            record_number=self.n_counted(recipe),
        )

    def moments(self, n_classes: int) -> Moments:
        """Return the moments of the vertices."""
        c = self.components
        return Moments.from_points(c.points, c.label[c.owner], n_classes, self.metric.origin)

    def select(self, mask: Mask) -> PrincipalGraph:
        """Return the graph with the components where `mask` is true."""
        return replace(self, components=self.components.select(mask))

    def with_features(self, n_features: int) -> PrincipalGraph:
        """Return the graph with `n_features` features; the new ones are missing in all vertices."""
        return replace(
            self,
            components=self.components.with_features(n_features),
            metric=self.metric.with_features(n_features),
        )


def merge_graphs(
    graphs: Sequence[PrincipalGraph], class_maps: Sequence[Numbers], recipe: StreamRecipe
) -> PrincipalGraph:
    """Return the union of graphs, the oldest components first.

    The numbers of batches and records are shifted so that all graphs end at the same batch: what is recent in one graph
    is recent in the union.

    Parameters
    ----------
    graphs : sequence of PrincipalGraph
        At least one.
    class_maps : sequence of arrays
        Class k of graph i has the number ``class_maps[i][k]`` in the union.
    recipe : StreamRecipe
        Views and the maximum number of vertices.
    """
    n_batches = max(graph.n_batches for graph in graphs)
    n_counted = max(graph.n_counted(recipe) for graph in graphs)
    components = Components.empty(graphs[0].components.points.shape[1])
    for graph, class_map in zip(graphs, class_maps, strict=True):
        c = graph.components
        shifted = replace(
            c,
            label=class_map[c.label],
            batch_number=c.batch_number + (n_batches - graph.n_batches),
            last_used=c.last_used + (n_counted - graph.n_counted(recipe)),
        )
        components = components.concatenate(shifted)
    metric, errors = graphs[0].metric, graphs[0].selection.errors
    for graph in graphs[1:]:
        metric, errors = metric.merge(graph.metric), errors + graph.selection.errors
    return PrincipalGraph(
        components.sort_by_batch().limit_vertices(recipe.max_vertices),
        metric,
        ViewSelection(recipe.views, errors),
        ProbabilityTest(np.sum([graph.probabilities.losses for graph in graphs], axis=0)),
        n_batches=n_batches,
        n_records=max(graph.n_records for graph in graphs),
        n_classified=max(graph.n_classified for graph in graphs),
    )
