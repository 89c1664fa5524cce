"""Views: several ways to classify with the same graph, and the selection of the one with the lowest error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from anystream.graph.array_types import Floats

DECAY = 0.9
"""Factor by which the errors of earlier batches shrink with every batch."""


@dataclass(frozen=True, slots=True)
class View:
    """One way to classify with a graph.

    Parameters
    ----------
    floor : float
        c of the smallest neighbourhood, K0 = max(1, round(c sqrt n)) for n vertices.
    weighted : bool
        Whether features are weighted by Relief.
    moments : bool
        Whether to classify by the moments of the vertices instead of the graph.
    """

    floor: float
    weighted: bool
    moments: bool = False

    def min_k(self, n_vertices: int) -> int:
        """Return K0. Eq. 1 then uses max(K_a, K0) neighbours for component a."""
        return max(1, round(self.floor * math.sqrt(n_vertices)))


def list_views(k_floors: tuple[float, ...], *, weighted: bool, moments: bool) -> tuple[View, ...]:
    """Return all views of a model: every floor with every metric, and the moments last."""
    metrics = (False, True) if weighted else (False,)
    graph_views = tuple(View(floor, metric) for metric in metrics for floor in k_floors)
    return graph_views + (View(0.0, False, True),) * moments


@dataclass(frozen=True, slots=True)
class ViewSelection:
    """Errors of the views on labelled batches that were not learned yet, and the view with the lowest error.

    Parameters
    ----------
    views : tuple of View
        All views of a model.
    errors : array of shape (n_views,)
        Decayed sum of the error rates of each view; newer batches weigh more.
    """

    views: tuple[View, ...]
    errors: Floats

    @classmethod
    def start(cls, views: tuple[View, ...]) -> ViewSelection:
        """Return a selection before the first batch: no view has an error yet."""
        return cls(views, np.zeros(len(views)))

    def observe(self, batch_errors: Floats) -> ViewSelection:
        """Return the selection after one more batch, on which the views had these error rates."""
        return ViewSelection(self.views, DECAY * self.errors + batch_errors)

    @property
    def best_index(self) -> int:
        """The index of the view with the lowest error, the first of equals."""
        return int(self.errors.argmin())

    @property
    def best(self) -> View:
        """The view with the lowest error, the first of equals."""
        return self.views[self.best_index]

    @property
    def best_graph_view(self) -> View:
        """The best of the views that classify by the graph."""
        n_graph_views = len(self.views) - self.views[-1].moments
        return self.views[int(self.errors[:n_graph_views].argmin())]
