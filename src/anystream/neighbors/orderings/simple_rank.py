"""SimpleRank: the paper's order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream.neighbors.orderings.base import OrderingTask


def simple_rank(task: OrderingTask) -> NDArray[np.int64]:
    """Worst first from the end, by SimpleRank.

    Notes
    -----
    rank(x) = sum over the x_j that have x as nearest neighbour of 1 if class(x_j) = class(x), else -2 / (classes - 1).
    The exemplar of lowest rank takes the last free place and leaves. All instances keep voting after they left, which
    the paper leaves open and its figures demand. Ties: the one nearest to another of its class leaves first.

    References
    ----------
    .. [1] Ueno, Xi, Keogh, Lee, "Anytime classification using the nearest neighbor algorithm with applications to
       stream mining", ICDM 2006.
    """
    return task.run("simple_rank")
