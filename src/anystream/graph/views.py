"""Ways to decide with the same graph, and the choice among them by their errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DECAY = 0.9
"""What one batch leaves of the errors of the batches before it."""


@dataclass(frozen=True, slots=True)
class View:
    """One way to decide.

    Parameters
    ----------
    floor : float
        c of the least neighbourhood K0 = max(1, round(c sqrt n)) on n vertices.
    weighted : bool
        Whether features are weighted by Relief.
    moments : bool
        Whether the moments of the vertices decide, and not the graph.
    """

    floor: float
    weighted: bool
    moments: bool = False

    def least_k(self, n_vertices: int) -> int:
        """K0 of Eq. 1 with a floor: component a looks at max(K_a, K0) neighbours."""
        return max(1, round(self.floor * math.sqrt(n_vertices)))


def views_of(k_floors: tuple[float, ...], *, weighted: bool, moments: bool) -> tuple[View, ...]:
    """All views of a model: every floor on every metric, and the moments last."""
    metrics = (False, True) if weighted else (False,)
    graph_views = tuple(View(floor, metric) for metric in metrics for floor in k_floors)
    return graph_views + (View(0.0, False, True),) * moments


@dataclass(frozen=True, slots=True)
class Choice:
    """The errors of the views on labelled batches, judged before they were learned; newer batches weigh more."""

    views: tuple[View, ...]
    errors: NDArray[np.float64]

    @classmethod
    def among(cls, views: tuple[View, ...]) -> Choice:
        """All views are equal as yet."""
        return cls(views, np.zeros(len(views)))

    def after(self, batch_errors: NDArray[np.float64]) -> Choice:
        """The choice after one more batch."""
        return Choice(self.views, DECAY * self.errors + batch_errors)

    @property
    def best(self) -> int:
        """The number of the view with the least error, the first of equals."""
        return int(self.errors.argmin())

    @property
    def best_of_graph(self) -> View:
        """The best view that is decided by the graph."""
        n_graph_views = len(self.views) - self.views[-1].moments
        return self.views[int(self.errors[:n_graph_views].argmin())]
