"""SEA: the sum of two features against a threshold that changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anystream.streams.generated import Batch, GeneratedStream
from anystream.streams.parameters import real_number


@dataclass(frozen=True, kw_only=True)
class SEA(GeneratedStream[float]):
    """Three features, evenly spread over [0, 10]; label 0 if x_1 + x_2 <= theta, else 1. The third is idle.

    Parameters
    ----------
    concepts : sequence of float, default=(8.0,)
        The thresholds theta, each between 0 and 20.
    drifts, noise, seed, n_records
        As in `GeneratedStream`.

    Notes
    -----
    Street and Kim [1]_ use theta = 8, 9, 7, 9.5 with 10 % noise. KAOGINC's paper [2]_ uses 7, 9, 6, 9.5 (its
    Figures 3a and 4) and 8, 9, 7, 9.5 (its text; the caption says 8, 6, 8, 7.5), 3, 5, 7, 9 and 9.5, 8, 6, 4
    (Figures 3b to 3d). It names no noise.

    References
    ----------
    .. [1] Street, Kim, "A streaming ensemble algorithm (SEA) for large-scale classification", KDD 2001.
    .. [2] Bertini, Lopes, Zhao, "Streaming data classification with the K-associated graph", 2011.

    Examples
    --------
    The stream of [2]_: 80 batches to learn (80 records), each followed by one to test (60), four concepts.
    A change falls between the two, so the first test after it comes as a surprise.

    >>> stream = SEA(
    ...     concepts=(7, 9, 6, 9.5), drifts=(2880, 5680, 8480), noise=0.1, seed=1, n_records=11_200
    ... )
    >>> X, y = stream.take(3)
    >>> X.shape, y.shape, stream.classes
    ((3, 3), (3,), array([0, 1]))
    >>> stream.concept_at(2879), stream.concept_at(2880)
    (7.0, 9.0)
    >>> sum(len(y) for _, y in stream.batches(140))
    11200
    """

    concepts: Sequence[float] = (8.0,)
    n_features: int = field(default=3, init=False, repr=False)
    n_classes: int = field(default=2, init=False, repr=False)

    def _check_concept(self, concept: object) -> float:
        wanted = "a threshold between 0 and 20, where sums of two features lie"
        theta = real_number("a SEA concept", concept, wanted=wanted, least=0.0, most=20.0)
        if theta in (0.0, 20.0):
            raise ValueError(f"a SEA concept is {theta}, which leaves one class; give {wanted}")
        return theta

    def _draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return 10.0 * rng.random((size, 3))

    def _apply(self, concept: float, draws: NDArray[np.float64], first: int) -> Batch:
        return draws, (draws[:, 0] + draws[:, 1] > concept).astype(np.int64)
