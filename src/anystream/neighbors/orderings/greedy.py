"""Best first: the order that our measurements favour."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream.neighbors.orderings.base import OrderingTask


def greedy(task: OrderingTask) -> NDArray[np.int64]:
    """What sets right most of the training data first.

    One exemplar of each class, chosen together; then again and again the candidate that lowers the training loss most;
    then what lies closest to a border; what disagrees with its neighbours comes last.
    """
    return task.run("greedy")
