"""Input of an ordering."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anystream._native import Counter, StopToken
from anystream.progress import run_with_progress

NativeOrdering: TypeAlias = "Callable[[str, Counter, StopToken], NDArray[np.int64]]"


@dataclass(frozen=True)
class OrderingTask:
    """Exemplars to be ordered.

    Parameters
    ----------
    labels : array of shape (n_exemplars,)
        Class numbers.
    n_classes : int
        Number of classes.
    seed : int
        Seed for random draws.
    native : callable
        Runs one of the native orderings by name on the exemplars.
    accuracy_curve : callable
        Returns the leave-one-out accuracies of an order, after numbers of exemplars that double.
    """

    labels: NDArray[np.int32]
    n_classes: int
    seed: int
    native: NativeOrdering
    accuracy_curve: Callable[[NDArray[np.int64]], NDArray[np.float64]]

    def run(self, name: str) -> NDArray[np.int64]:
        """Run one of the native orderings, with a progress bar if it takes long."""
        return run_with_progress(
            lambda done, stop: self.native(name, done, stop),
            total=2 * len(self.labels),
            description="ordering the exemplars",
        )


Ordering: TypeAlias = "Callable[[OrderingTask], NDArray[np.int64]]"
