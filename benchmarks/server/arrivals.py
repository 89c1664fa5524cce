"""Arrival times of requests: Gamma gaps of any coefficient of variation, and the shape of a real trace."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Requests per second of a code-completion service during 44 seconds from 2023-11-16 18:20:07 on, counted from
# AzureLLMInferenceTrace_code.csv of the Azure Public Dataset (Microsoft, CC BY 4.0).
_REAL_COUNTS = (
    *(9, 0, 0, 0, 8, 12, 0, 0, 7, 13, 0, 0, 14, 26, 21, 23, 28, 11, 6, 5, 5, 6, 7),
    *(0, 0, 0, 0, 0, 0, 0, 3, 11, 20, 4, 0, 2, 14, 8, 12, 28, 5, 27, 12, 8),
)
REAL = "real trace"


def draw_arrivals(shape: str, rate_per_s: float, seconds: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return ascending arrival times.

    Parameters
    ----------
    shape : str
        A number: the coefficient of variation of the gaps, 1 for a Poisson process, more for bursts; or `REAL`.
    rate_per_s, seconds : float
        Mean rate, and length.
    """
    n = max(round(rate_per_s * seconds), 1)
    if shape == REAL:
        return _draw_shaped(n, seconds, rng)
    variation = float(shape)
    gaps = rng.gamma(1.0 / variation**2, size=n + 1)
    return np.asarray(seconds * np.cumsum(gaps)[:n] / gaps.sum())  # the same number at every seed: loads are comparable


def _draw_shaped(n: int, seconds: float, rng: np.random.Generator) -> NDArray[np.float64]:
    counts = np.array(_REAL_COUNTS, dtype=np.float64)
    slots = rng.choice(len(counts), size=n, p=counts / counts.sum())
    return np.sort((slots + rng.random(n)) * seconds / len(counts))
