"""Best first: the order that our measurements favour."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream.neighbors.orderings.base import OrderingTask


def greedy(task: OrderingTask) -> NDArray[np.int64]:
    """What sets right most of the training data first.

    Notes
    -----
    One exemplar of each class, chosen together; then up to 1000 times, of 48 candidates, the one that lowers the loss
    of the training data most; then the others in the order of SimpleRank. The loss of an object grows with
    s / (s + o), where s and o are its distances to the nearest chosen exemplars of its own class and of another.
    Objects that disagree with most of their three nearest neither judge nor are chosen.
    """
    return task.run("greedy")
