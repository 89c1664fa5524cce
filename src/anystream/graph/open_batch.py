"""The graph to ask: what was learned from whole batches, and the open batch beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.graph.components import Components
from anystream.graph.moments import Moments
from anystream.graph.principal import PrincipalGraph
from anystream.graph.settings import Settings


@dataclass(frozen=True, slots=True)
class SettledGraph:
    """The principal graph to ask, without the open batch; and the moments of its vertices, if they decide."""

    graph: _native.AssociatedGraph
    scale: NDArray[np.float64]
    moments: Moments | None

    @classmethod
    def of(cls, principal: PrincipalGraph, n_classes: int, settings: Settings) -> SettledGraph:
        """What there is to ask of a principal graph until it learns its next batch."""
        c, scale = principal.components, principal.scale(settings)
        graph = _native.AssociatedGraph(scale, n_classes)
        if len(c):
            graph = graph.with_part(1, np.ascontiguousarray(c.points), c.owner, c.k, c.purity, c.label)
        decide = principal.choice.views[principal.choice.best].moments
        return cls(graph, scale, principal.moments(n_classes) if decide else None)

    def beside(
        self,
        points: NDArray[np.float64],
        labels: NDArray[np.int32],
        principal: PrincipalGraph,
        settings: Settings,
    ) -> _native.AssociatedGraph:
        """The graph to ask: the principal graph and, beside it, the optimal graph of the open batch."""
        if len(points):
            c = principal.batch_components(points, labels, self.scale, settings)
        else:
            c = Components.none(points.shape[1])
        least_k = principal.choice.best_of_graph.least_k(self.graph.vertices + c.n_vertices)
        graph = self.graph.with_part(least_k, c.points, c.owner, c.k, c.purity, c.label)
        if self.moments is None:
            return graph
        open_moments = Moments.of(c.points, c.label[c.owner], graph.classes, self.moments.origin)
        return graph.with_moments(*(self.moments + open_moments).gaussians())
