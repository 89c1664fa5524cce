"""Random order, as a baseline for the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream.neighbors.orderings.base import OrderingTask


def random(task: OrderingTask) -> NDArray[np.int64]:
    """Return a random permutation."""
    return np.random.default_rng(task.seed).permutation(len(task.labels))
