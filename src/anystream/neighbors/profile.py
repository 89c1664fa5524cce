"""Pooling of performance profiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.profile import PerformanceProfile


def pool_profiles(profiles: Sequence[PerformanceProfile], stages: NDArray[np.int64]) -> PerformanceProfile:
    """Return the profile at `stages` of the records of all profiles together."""
    n_records = sum(profile.n_records for profile in profiles)
    n_correct = sum(profile.expected(stages) * profile.n_records for profile in profiles)
    return PerformanceProfile(stages, np.minimum(n_correct / n_records, 1.0), n_records)
