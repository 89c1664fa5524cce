"""Random RBF: points around many weighted centres, which may wander."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.streams.generated import Batch, GeneratedStream
from anystream.streams.parameters import real_number, whole_number


class Components(NamedTuple):
    """The centres of one concept, a row each.

    Attributes
    ----------
    centers : ndarray of shape (n_centers, n_features)
        Where they are, in the unit cube.
    directions : ndarray of shape (n_centers, n_features)
        Unit vectors along which they wander.
    deviations : ndarray of shape (n_centers,)
        Standard deviation of the distance at which their points lie.
    weights : ndarray of shape (n_centers,)
        Share of the records that each gives; they sum to 1.
    labels : ndarray of shape (n_centers,)
        The class of their points. Centre i has class i modulo n_classes, so no class is without one.
    """

    centers: NDArray[np.float64]
    directions: NDArray[np.float64]
    deviations: NDArray[np.float64]
    weights: NDArray[np.float64]
    labels: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class RandomRBF(GeneratedStream[int]):
    """Points around random centres of the unit cube; the label is the centre's.

    A record chooses a centre by weight, a direction evenly, and a distance from a normal distribution with
    the centre's deviation. With a `speed`, the centres travel in straight lines, each its own way, and bounce
    off the walls of the cube: a drift that never stops, beside the abrupt ones at `drifts`.

    Parameters
    ----------
    concepts : sequence of int, default=(0,)
        Seeds of the sets of centres. Streams of different `seed` and equal `concepts` draw from the same
        distribution.
    n_features : int, default=10
        Dimensions of the cube.
    n_classes : int, default=2
        Classes, at least 2.
    n_centers : int, default=50
        Centres, at least one per class.
    spread : float, default=1.0
        The centres' deviations are drawn evenly from [0, spread].
    speed : float, default=0.0
        How far each centre travels from one record to the next.
    drifts, noise, seed, n_records
        As in `GeneratedStream`.

    Notes
    -----
    After the random RBF generator of MOA [1]_ (there 50 centres, deviations up to 1; speeds 0.0001 and 0.001
    are its customary moderate and fast drift). The numbers are not MOA's, and classes are dealt to the
    centres in turn instead of by chance.

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
            "n_features": whole_number("n_features", self.n_features, least=1),
            "n_classes": whole_number("n_classes", self.n_classes, least=2),
            "n_centers": whole_number("n_centers", self.n_centers, least=2),
            "spread": real_number("spread", self.spread, wanted="a number from 0 up", least=0.0, most=1e9),
            "speed": real_number("speed", self.speed, wanted="a distance from 0 to 1", least=0.0, most=1.0),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.n_centers < self.n_classes:
            raise ValueError(
                f"{self.n_centers} centers for {self.n_classes} classes; give at least one center per class"
            )
        super().__post_init__()

    def components_at(self, position: int) -> Components:
        """Answer the centres from which the record at a position is drawn."""
        here = self._components(self.concept_at(position))
        return here._replace(centers=self._wander(here.centers, here.directions, np.array([position])))

    def _components(self, concept: int) -> Components:
        return _components(concept, self.n_features, self.n_classes, self.n_centers, self.spread)

    def _wander(
        self, centers: NDArray[np.float64], directions: NDArray[np.float64], position: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Move centres to where they are at a position: straight on, folded back into the cube."""
        if self.speed == 0.0:
            return centers
        unfolded = centers + (self.speed * position)[:, np.newaxis] * directions
        return np.asarray(1.0 - np.abs(1.0 - np.mod(unfolded, 2.0)))

    def _check_concept(self, concept: object) -> int:
        return whole_number("a RandomRBF concept", concept, least=0)

    def _draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return np.hstack([rng.random((size, 1)), rng.standard_normal((size, 1 + self.n_features))])

    def _apply(self, concept: int, draws: NDArray[np.float64], first: int) -> Batch:
        here = self._components(concept)
        choice, distance, direction = draws[:, 0], draws[:, 1], draws[:, 2:]
        chosen = np.searchsorted(np.cumsum(here.weights)[:-1], choice, side="right")
        position = np.arange(first, first + len(draws))
        X = self._wander(here.centers[chosen], here.directions[chosen], position)
        length = here.deviations[chosen] * distance / np.linalg.norm(direction, axis=1)
        return X + length[:, np.newaxis] * direction, here.labels[chosen]


@lru_cache(maxsize=32)
def _components(concept: int, n_features: int, n_classes: int, n_centers: int, spread: float) -> Components:
    rng = np.random.default_rng(concept)
    centers = rng.random((n_centers, n_features))
    directions = rng.standard_normal((n_centers, n_features))
    weights = rng.random(n_centers)
    made = Components(
        centers=centers,
        directions=directions / np.linalg.norm(directions, axis=1, keepdims=True),
        deviations=spread * rng.random(n_centers),
        weights=weights / weights.sum(),
        labels=np.arange(n_centers) % n_classes,
    )
    for array in made:
        array.flags.writeable = False  # shared by all streams with these centres
    return made
