"""DROP1, DROP2 and DROP3 as orders, and the best of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream.neighbors.orderings.base import OrderingTask


def drop1(task: OrderingTask) -> NDArray[np.int64]:
    """What helps the remaining objects that have it among their three nearest least leaves first."""
    return task.run("drop1")


def drop2(task: OrderingTask) -> NDArray[np.int64]:
    """As DROP1, but objects that have left count too, and of equals the farthest from another class leaves first."""
    return task.run("drop2")


def drop3(task: OrderingTask) -> NDArray[np.int64]:
    """As DROP2, but what disagrees with most of its three nearest leaves before all others."""
    return task.run("drop3")


def best_drop(task: OrderingTask) -> NDArray[np.int64]:
    """Of the three the one with the highest mean leave-one-out accuracy over doubling numbers of exemplars.

    References
    ----------
    .. [1] Wilson, Martinez, "Reduction techniques for instance-based learning algorithms", Machine Learning 38, 2000.
    """
    orders = [task.run(name) for name in ("drop1", "drop2", "drop3")]
    return max(orders, key=lambda order: float(task.accuracy_curve(order).mean()))
