"""Settings of a comparison: how many records, how long, under which load."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

N_TREES = 100
"""Trees, or rounds of boosting, of every forest that is trained at once."""

WINDOW = 1_000
"""Records that nearest neighbours of other libraries keep."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How much is measured; the same for every library.

    Parameters
    ----------
    max_train, max_test : int
        Maximum number of records that a method learns, and that it is tested on.
    n_single : int
        Number of single predictions, and of single learning steps, that are timed.
    max_pass_s : float
        Processor time after which a pass over the training records ends; what was learned until then counts, and the
        report says how many records that were.
    rates : tuple of float
        Records per second that arrive when on-time accuracy is measured.
    within_s : float
        Time from arrival to the deadline.
    stream_s : float
        Length of the streams that are measured for on-time accuracy.
    seed : int
        Seed of generated streams, of the order of records, of arrivals, and of methods that take one.
    """

    max_train: int = 10_000
    max_test: int = 2_000
    n_single: int = 1_000
    max_pass_s: float = 30.0
    rates: tuple[float, ...] = (1_000.0, 10_000.0, 100_000.0)
    within_s: float = 0.02
    stream_s: float = 0.3
    seed: int = 0

    @classmethod
    def quick(cls, *, seed: int = 0) -> Settings:
        """Return settings that take about a second for each method."""
        return cls(max_train=1_000, max_test=300, n_single=200, max_pass_s=2.0, stream_s=0.1, seed=seed)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON has them."""
        return asdict(self) | {"rates": list(self.rates)}
