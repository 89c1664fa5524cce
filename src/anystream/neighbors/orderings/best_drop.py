"""DROP1, DROP2 and DROP3 as orders, and the best of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anystream.neighbors.orderings.base import OrderingTask


def drop1(task: OrderingTask) -> NDArray[np.int64]:
    """Order by DROP1: remove first what helps the remaining exemplars that have it among their three nearest least."""
    return task.run("drop1")


def drop2(task: OrderingTask) -> NDArray[np.int64]:
    """Order by DROP2: like DROP1, but removed exemplars count too.

    Of equals, the exemplar that is farthest from another class is removed first.
    """
    return task.run("drop2")


def drop3(task: OrderingTask) -> NDArray[np.int64]:
    """Order by DROP3: like DROP2, but remove first what disagrees with the majority of its three nearest."""
    return task.run("drop3")


def best_drop(task: OrderingTask) -> NDArray[np.int64]:
    """Return the order of DROP1 to 3 with the highest mean leave-one-out accuracy over doubling numbers of exemplars.

    References
    ----------
    .. [1] Wilson, Martinez, "Reduction techniques for instance-based learning algorithms", Machine Learning 38, 2000.
    """
    orders = [task.run(name) for name in ("drop1", "drop2", "drop3")]
    return max(orders, key=lambda order: float(task.accuracy_curve(order).mean()))
