"""Sine: points below or above a sine curve, with labels that may be reversed."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anystream.streams.generated import Batch, GeneratedStream

CONCEPTS = ("sine1", "sine1_reversed", "sine2", "sine2_reversed")


@dataclass(frozen=True, kw_only=True)
class Sine(GeneratedStream[str]):
    """Two features, uniform on the unit square; label 1 below a sine curve, else 0, or reversed.

    Parameters
    ----------
    concepts : sequence of str, default=("sine1",)
        "sine1": label 1 if x_2 < sin(x_1). "sine2": label 1 if x_2 < 0.5 + 0.3 sin(3 pi x_1).
        "sine1_reversed" and "sine2_reversed": the labels exchanged.
    drifts, noise, seed, n_records
        As in `GeneratedStream`.

    Notes
    -----
    SINE1 and SINE2 of Gama et al. [1]_, who reverse the labels at every change. KAOGINC's paper uses a "moving Sine"
    with three abrupt changes and does not define it. We compare two interpretations: all four concepts in turn, and
    "sine2" reversed at each change.

    References
    ----------
    .. [1] Gama, Medas, Castillo, Rodrigues, "Learning with drift detection", SBIA 2004.

    Examples
    --------
    >>> stream = Sine(concepts=("sine2", "sine2_reversed"), drifts=(1000,), seed=3, n_records=2000)
    >>> X, y = stream.take(500, start=1000)
    >>> below = X[:, 1] < 0.5 + 0.3 * np.sin(3 * np.pi * X[:, 0])
    >>> bool(np.all(y == ~below))
    True
    """

    concepts: Sequence[str] = ("sine1",)
    n_features: int = field(default=2, init=False, repr=False)
    n_classes: int = field(default=2, init=False, repr=False)

    def _check_concept(self, concept: object) -> str:
        if concept not in CONCEPTS:
            raise ValueError(f"a Sine concept is {concept!r}; give one of {', '.join(CONCEPTS)}")
        return str(concept)

    def _draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return rng.random((size, 2))

    def _apply(self, concept: str, draws: NDArray[np.float64], first: int) -> Batch:
        x_1, x_2 = draws[:, 0], draws[:, 1]
        curve = np.sin(x_1) if concept.startswith("sine1") else 0.5 + 0.3 * np.sin(3 * np.pi * x_1)
        positive = x_2 >= curve if concept.endswith("_reversed") else x_2 < curve
        return draws, positive.astype(np.int64)
