"""Japanese flag: a disc in a square."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from anystream.streams.generated import Batch, GeneratedStream
from anystream.streams.parameters import check_float

CORNER = sqrt(0.5)  # from the centre of the unit square to a corner


@dataclass(frozen=True, kw_only=True)
class JapaneseFlag(GeneratedStream[float]):
    """Two features, uniform on the unit square; label 1 inside a disc in its middle, else 0.

    Parameters
    ----------
    concepts : sequence of float, default=(0.3,)
        Radius of the disc under each concept, above 0 and below half the diagonal of the square.
    drifts, noise, seed, n_records
        As in `GeneratedStream`.

    Notes
    -----
    JF of Ueno et al. [1]_, the running example of anytime nearest neighbours, there with 2,000 records and
    without drifts. The paper does not state the radius; 0.3 comes close to its curves.

    References
    ----------
    .. [1] Ueno, Xi, Keogh, Lee, "Anytime classification using the nearest neighbor algorithm with
       applications to stream mining", ICDM 2006.

    Examples
    --------
    >>> X, y = JapaneseFlag(seed=0, n_records=2000).take(2000)
    >>> bool(np.all((np.hypot(X[:, 0] - 0.5, X[:, 1] - 0.5) < 0.3) == y))
    True
    """

    concepts: Sequence[float] = (0.3,)
    n_features: int = field(default=2, init=False, repr=False)
    n_classes: int = field(default=2, init=False, repr=False)

    def _check_concept(self, concept: object) -> float:
        wanted = f"a radius above 0 and below {CORNER:.4f}, half the diagonal of the unit square"
        radius = check_float("a JapaneseFlag concept", concept, wanted=wanted, min_value=0.0, max_value=CORNER)
        if radius in (0.0, CORNER):
            raise ValueError(f"a JapaneseFlag concept is {radius}, which leaves a single class; give {wanted}")
        return radius

    def _draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return rng.random((size, 2))

    def _apply(self, concept: float, draws: NDArray[np.float64], first: int) -> Batch:
        distance = np.hypot(draws[:, 0] - 0.5, draws[:, 1] - 0.5)
        return draws, (distance < concept).astype(np.int64)
