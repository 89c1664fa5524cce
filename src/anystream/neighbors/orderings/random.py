"""Any order: what the others are compared with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream.neighbors.orderings.base import OrderingTask


def random(task: OrderingTask) -> NDArray[np.int64]:
    """A random permutation."""
    return np.random.default_rng(task.seed).permutation(len(task.labels))
