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
from anystream.graph.steps import Steps, take_all


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
    def build(cls, principal: PrincipalGraph, recipe: StreamRecipe) -> PrincipalIndex:
        """Return the index of a principal graph; it is valid until the next batch is learned."""
        return take_all(cls.building_steps(principal, recipe))

    @classmethod
    def building_steps(cls, principal: PrincipalGraph, recipe: StreamRecipe) -> Steps[PrincipalIndex]:
        """Take the steps of `build`. The index has the classes of the components, whatever further ones are known."""
        c, scale = principal.components, principal.scale(recipe)
        n_classes = int(c.label.max(initial=0)) + 1
        graph = _native.AssociatedGraph(scale, n_classes)
        if len(c):
            part = graph.begin_part(np.ascontiguousarray(c.points), c.owner, c.k, c.purity, c.label)
            yield 1
            while part.advance():
                yield 1
            graph = graph.with_built_part(1, part)
        moments = None
        if principal.selection.best.moments:
            moments = principal.moments(n_classes)
            yield 1
        return cls(graph, scale, moments)

    def with_open_batch(self, batch: Batch, principal: PrincipalGraph, recipe: StreamRecipe) -> _native.AssociatedGraph:
        """Return the graph to classify with: the principal graph and the optimal graph of the open batch."""
        c = principal.batch_components(batch, self.scale, recipe)
        min_k = principal.selection.best_graph_view.min_k(self.graph.vertices + c.n_vertices)
        n_classes = max(batch.n_classes, self.graph.classes)
        graph = _add_components(self.graph.with_classes(n_classes), min_k, c)
        if self.moments is None:
            return graph
        open_moments = Moments.from_points(c.points, c.label[c.owner], n_classes, self.moments.origin)
        return graph.with_moments(*(self.moments.with_classes(n_classes) + open_moments).gaussians())
