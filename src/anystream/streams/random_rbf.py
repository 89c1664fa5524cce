"""Random RBF: points around many weighted centres, which may move."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.streams.generated import Batch, GeneratedStream
from anystream.streams.parameters import check_float, check_int


class Components(NamedTuple):
    """The centres of one concept, one row each.

    Attributes
    ----------
    centers : ndarray of shape (n_centers, n_features)
        Positions in the unit cube.
    directions : ndarray of shape (n_centers, n_features)
        Unit vectors along which the centres move.
    deviations : ndarray of shape (n_centers,)
        Standard deviation of the distance of the points from their centre.
    weights : ndarray of shape (n_centers,)
        Share of the records that belong to each centre; they sum to 1.
    labels : ndarray of shape (n_centers,)
        The class of the points. Centre i has class i modulo n_classes, so every class has a centre.
    """

    centers: NDArray[np.float64]
    directions: NDArray[np.float64]
    deviations: NDArray[np.float64]
    weights: NDArray[np.float64]
    labels: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class RandomRBF(GeneratedStream[int]):
    """Points around random centres of the unit cube; the label is the centre's.

    For each record a centre is drawn by weight, a direction uniformly, and a distance from a normal distribution with
    the centre's deviation. With a positive `speed`, each centre moves along its own straight line and is reflected at
    the faces of the cube: a continuous drift in addition to the abrupt ones at `drifts`.

    Parameters
    ----------
    concepts : sequence of int, default=(0,)
        Seed of the centres of each concept. Streams with different `seed` and equal `concepts` draw from the same
        distribution.
    n_features : int, default=10
        Number of dimensions of the cube.
    n_classes : int, default=2
        Number of classes, at least 2.
    n_centers : int, default=50
        Number of centres, at least one per class.
    spread : float, default=1.0
        The deviations of the centres are drawn uniformly from [0, spread].
    speed : float, default=0.0
        Distance that each centre moves from one record to the next.
    drifts, noise, seed, n_records
        As in `GeneratedStream`.

    Notes
    -----
    Modelled on the random RBF generator of MOA [1]_ (there 50 centres, deviations up to 1; speeds of 0.0001 and 0.001
    are its usual moderate and fast drift). The random numbers differ from MOA's, and classes are assigned to the
    centres in turn instead of at random.

    References
    ----------
    .. [1] Bifet, Holmes, Kirkby, Pfahringer, "MOA: massive online analysis", JMLR 11, 2010.

    Examples
    --------
    >>> stream = RandomRBF(n_features=4, n_classes=3, n_centers=6, speed=0.001, seed=7)
    >>> X, y = stream.take(1000)
    >>> X.shape, np.unique(y)
    ((1000, 4), array([0, 1, 2]))
    >>> before, after = stream.components_at(0).centers, stream.components_at(100).centers
    >>> bool(np.all(np.linalg.norm(after - before, axis=1) < 0.1001))
    True
    """

    concepts: Sequence[int] = (0,)
    n_features: int = 10
    n_classes: int = 2
    n_centers: int = 50
    spread: float = 1.0
    speed: float = 0.0

    def __post_init__(self) -> None:
        checked = {
            "n_features": check_int("n_features", self.n_features, min_value=1),
            "n_classes": check_int("n_classes", self.n_classes, min_value=2),
            "n_centers": check_int("n_centers", self.n_centers, min_value=2),
            "spread": check_float("spread", self.spread, wanted="a number from 0 to 1e9", min_value=0.0, max_value=1e9),
            "speed": check_float("speed", self.speed, wanted="a distance from 0 to 1", min_value=0.0, max_value=1.0),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.n_centers < self.n_classes:
            raise ValueError(
                f"there are {self.n_centers} centers for {self.n_classes} classes; give at least one center per class"
            )
        super().__post_init__()

    def components_at(self, position: int) -> Components:
        """Return the centres from which the record at a position is drawn."""
        components = self._components(self.concept_at(position))
        moved = self._move(components.centers, components.directions, np.array([position]))
        return components._replace(centers=moved)

    def _components(self, concept: int) -> Components:
        return _draw_components(concept, self.n_features, self.n_classes, self.n_centers, self.spread)

    def _move(
        self, centers: NDArray[np.float64], directions: NDArray[np.float64], position: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the centres at a position: each moves along a straight line, reflected at the faces of the cube."""
        if self.speed == 0.0:
            return centers
        unfolded = centers + (self.speed * position)[:, np.newaxis] * directions
        return np.asarray(1.0 - np.abs(1.0 - np.mod(unfolded, 2.0)))

    def _check_concept(self, concept: object) -> int:
        return check_int("a RandomRBF concept", concept, min_value=0)

    def _draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return np.hstack([rng.random((size, 1)), rng.standard_normal((size, 1 + self.n_features))])

    def _apply(self, concept: int, draws: NDArray[np.float64], first: int) -> Batch:
        components = self._components(concept)
        choice, distance, direction = draws[:, 0], draws[:, 1], draws[:, 2:]
        chosen = np.searchsorted(np.cumsum(components.weights)[:-1], choice, side="right")
        position = np.arange(first, first + len(draws))
        X = self._move(components.centers[chosen], components.directions[chosen], position)
        length = components.deviations[chosen] * distance / np.linalg.norm(direction, axis=1)
        return X + length[:, np.newaxis] * direction, components.labels[chosen]


@lru_cache(maxsize=32)
def _draw_components(concept: int, n_features: int, n_classes: int, n_centers: int, spread: float) -> Components:
    rng = np.random.default_rng(concept)
    centers = rng.random((n_centers, n_features))
    directions = rng.standard_normal((n_centers, n_features))
    weights = rng.random(n_centers)
    components = Components(
        centers=centers,
        directions=directions / np.linalg.norm(directions, axis=1, keepdims=True),
        deviations=spread * rng.random(n_centers),
        weights=weights / weights.sum(),
        labels=np.arange(n_centers) % n_classes,
    )
    for array in components:
        array.flags.writeable = False  # the cache shares them between streams
    return components
