"""Rate of arrivals, as an average over the last second or so."""

from __future__ import annotations

import math

_WINDOW_S = 1.0  # the weight of what was observed falls to 1/e in this time


class ArrivalRate:
    """Exponential average of arrivals per second, unbiased from the first observation on.

    Attributes
    ----------
    per_s : float
        Arrivals per second; 0 before the second observation.
    """

    def __init__(self) -> None:
        self.per_s = 0.0
        self._sum = self._weight = 0.0
        self._observed_at: float | None = None

    def observe(self, n_records: int, now: float) -> None:
        """Add the records that arrived since the last call."""
        if self._observed_at is not None and now > self._observed_at:
            passed_s = now - self._observed_at
            weight = -math.expm1(-passed_s / _WINDOW_S)
            self._sum += weight * (n_records / passed_s - self._sum)
            self._weight += weight * (1.0 - self._weight)
            self.per_s = self._sum / self._weight
        self._observed_at = now
