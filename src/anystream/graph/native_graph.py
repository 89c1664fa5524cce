"""Native graphs that classify: built from components, and from a principal graph with its open batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anystream import _native
from anystream.graph.array_types import Floats
from anystream.graph.batch import Batch
from anystream.graph.components import Components
from anystream.graph.moments import Moments
from anystream.graph.principal import PrincipalGraph
from anystream.graph.recipe import StreamRecipe


def build_native_graph(components: Components, scale: Floats, n_classes: int) -> _native.AssociatedGraph:
    """Return the native graph of components; it never changes."""
    graph = _native.AssociatedGraph(scale, n_classes)
    return _add_components(graph, 1, components) if len(components) else graph


def _add_components(graph: _native.AssociatedGraph, min_k: int, c: Components) -> _native.AssociatedGraph:
    return graph.with_part(min_k, np.ascontiguousarray(c.points), c.owner, c.k, c.purity, c.label)


@dataclass(frozen=True, slots=True)
class PrincipalIndex:
    """Native graph of the whole batches, to which the open batch is added with every call that learns.

    Parameters
    ----------
    graph : AssociatedGraph
        The components of the principal graph.
    scale : array of shape (n_features,)
        Factors of the features in distances.
    moments : Moments, optional
        The moments of the vertices if the best view classifies by moments.
    """

    graph: _native.AssociatedGraph
    scale: Floats
    moments: Moments | None

    @classmethod
    def build(cls, principal: PrincipalGraph, n_classes: int, recipe: StreamRecipe) -> PrincipalIndex:
        """Return the index of a principal graph; it is valid until the next batch is learned."""
        scale = principal.scale(recipe)
        graph = build_native_graph(principal.components, scale, n_classes)
        return cls(graph, scale, principal.moments(n_classes) if principal.selection.best.moments else None)

    def with_open_batch(self, batch: Batch, principal: PrincipalGraph, recipe: StreamRecipe) -> _native.AssociatedGraph:
        """Return the graph to classify with: the principal graph and the optimal graph of the open batch."""
        c = principal.batch_components(batch, self.scale, recipe)
        min_k = principal.selection.best_graph_view.min_k(self.graph.vertices + c.n_vertices)
        graph = _add_components(self.graph, min_k, c)
        if self.moments is None:
            return graph
        open_moments = Moments.from_points(c.points, c.label[c.owner], graph.classes, self.moments.origin)
        return graph.with_moments(*(self.moments + open_moments).gaussians())
