"""SimpleRank: the paper's order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream.neighbors.orderings.base import OrderingTask


def simple_rank(task: OrderingTask) -> NDArray[np.int64]:
    """Order by SimpleRank: fill the order from its end, the exemplar of lowest rank first.

    Notes
    -----
    rank(x) = sum over the x_j that have x as nearest neighbour of 1 if class(x_j) = class(x), else -2 / (classes - 1).
    The exemplar of lowest rank takes the last free place and is removed. All exemplars keep voting after they were
    removed, which the paper does not specify and its figures require. Ties: the exemplar nearest to another remaining
    one of its class is removed first.

    References
    ----------
    .. [1] Ueno, Xi, Keogh, Lee, "Anytime classification using the nearest neighbor algorithm with applications to
       stream mining", ICDM 2006.
    """
    return task.run("simple_rank")
