"""Moving Gaussians: a narrow class inside a wide one, whose labels are swapped at drifts."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anystream.streams.generated import Batch, GeneratedStream

CONCEPTS = ("plain", "swapped")
NARROW_SHARE = 0.5
WIDE_CENTER = np.array([2.0, 0.0])
WIDE_DEVIATION = 4.0


@dataclass(frozen=True, kw_only=True)
class MovingGaussians(GeneratedStream[str]):
    """Two equally likely classes: overlapping Gaussians in the plane, whose labels are swapped at drifts.

    Parameters
    ----------
    concepts : sequence of str, default=("plain",)
        "plain": label 1 around (0, 0) with standard deviation 1, label 0 around (2, 0) with standard
        deviation 4, in each direction. "swapped": the labels exchanged.
    drifts, noise, seed, n_records
        As in `GeneratedStream`.

    Notes
    -----
    GAUSS of Gama et al. [1]_. The classes overlap: the Bayes rule of a concept has an error of 10.0 % even
    without noise.

    References
    ----------
    .. [1] Gama, Medas, Castillo, Rodrigues, "Learning with drift detection", SBIA 2004.

    Examples
    --------
    >>> stream = MovingGaussians(concepts=("plain", "swapped"), drifts=(50_000,), seed=5)
    >>> X, y = stream.take(50_000)
    >>> X[y == 1].std(axis=0).round(1), X[y == 0].std(axis=0).round(1)
    (array([1., 1.]), array([4., 4.]))
    >>> X, y = stream.take(50_000, start=50_000)
    >>> X[y == 1].std(axis=0).round(1), X[y == 0].std(axis=0).round(1)
    (array([4., 4.]), array([1., 1.]))
    """

    concepts: Sequence[str] = ("plain",)
    n_features: int = field(default=2, init=False, repr=False)
    n_classes: int = field(default=2, init=False, repr=False)

    def _check_concept(self, concept: object) -> str:
        if concept not in CONCEPTS:
            raise ValueError(f"a MovingGaussians concept is {concept!r}; give one of {', '.join(CONCEPTS)}")
        return str(concept)

    def _draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        narrow = rng.random((size, 1)) < NARROW_SHARE
        points = rng.standard_normal((size, 2))
        return np.hstack([np.where(narrow, points, WIDE_CENTER + WIDE_DEVIATION * points), narrow])

    def _apply(self, concept: str, draws: NDArray[np.float64], first: int) -> Batch:
        narrow = draws[:, 2].astype(np.int64)
        return np.ascontiguousarray(draws[:, :2]), 1 - narrow if concept == "swapped" else narrow
