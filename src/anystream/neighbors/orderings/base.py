"""What an ordering is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anystream._native import Counter, StopToken

NativeOrder: TypeAlias = "Callable[[str, Counter, StopToken], NDArray[np.int64]]"


@dataclass(frozen=True)
class OrderingTask:
    """Exemplars to be ordered.

    Parameters
    ----------
    labels : array of shape (n_exemplars,)
        Class numbers.
    n_classes : int
        How many classes there are.
    seed : int
        For what is drawn.
    native : callable
        Runs one of the native orderings by name on the exemplars.
    accuracy_curve : callable
        The leave-one-out accuracies of an order, after numbers of exemplars that double.
    """

    labels: NDArray[np.int32]
    n_classes: int
    seed: int
    native: NativeOrder
    accuracy_curve: Callable[[NDArray[np.int64]], NDArray[np.float64]]

    def run(self, name: str) -> NDArray[np.int64]:
        """One of the native orderings, with a progress bar if it takes long."""
        from anystream.progress import run_with_progress

        return run_with_progress(
            lambda done, stop: self.native(name, done, stop),
            total=2 * len(self.labels),
            description="ordering the exemplars",
        )


Ordering: TypeAlias = "Callable[[OrderingTask], NDArray[np.int64]]"
