"""SEA: the sum of two features against a threshold that changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anystream.streams.generated import Batch, GeneratedStream
from anystream.streams.parameters import check_float


@dataclass(frozen=True, kw_only=True)
class SEA(GeneratedStream[float]):
    """Three features, uniform on [0, 10]; label 0 if x_1 + x_2 <= theta, else 1. The third feature is irrelevant.

    Parameters
    ----------
    concepts : sequence of float, default=(8.0,)
        Threshold theta of each concept, between 0 and 20.
    drifts, noise, seed, n_records
        As in `GeneratedStream`.

    Notes
    -----
    Street and Kim [1]_ use theta = 8, 9, 7, 9.5 with 10 % noise. KAOGINC's paper [2]_ uses 7, 9, 6, 9.5 (its
    Figures 3a and 4) and 8, 9, 7, 9.5 (its text; its caption has 8, 6, 8, 7.5), 3, 5, 7, 9 and 9.5, 8, 6, 4
    (Figures 3b to 3d). It does not mention noise.

    References
    ----------
    .. [1] Street, Kim, "A streaming ensemble algorithm (SEA) for large-scale classification", KDD 2001.
    .. [2] Bertini, Lopes, Zhao, "Streaming data classification with the K-associated graph", 2011.

    Examples
    --------
    The stream of [2]_: 80 labelled batches (80 records each), each followed by a test batch (60 records), four
    concepts. Each drift is between a labelled batch and its test batch, so no classifier can have learned the new
    concept there.

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
        wanted = "a threshold between 0 and 20, the range of the sum of two features"
        theta = check_float("a SEA concept", concept, wanted=wanted, min_value=0.0, max_value=20.0)
        if theta in (0.0, 20.0):
            raise ValueError(f"a SEA concept is {theta}, which leaves a single class; give {wanted}")
        return theta

    def _draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return 10.0 * rng.random((size, 3))

    def _apply(self, concept: float, draws: NDArray[np.float64], first: int) -> Batch:
        return draws, (draws[:, 0] + draws[:, 1] > concept).astype(np.int64)
